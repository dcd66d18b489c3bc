"""PyG: a graph network, trained on batches from PrefetchLoader, which copies them on a stream of its own."""

import json
import sys

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader, PrefetchLoader
from torch_geometric.nn import GCNConv, global_mean_pool

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
torch.manual_seed(0)
edges = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
graphs = [Data(x=torch.rand(4, 8), edge_index=edges, y=torch.rand(1, 1)) for _ in range(16)]
loader = PrefetchLoader(DataLoader(graphs, batch_size=4), device)
first, second = GCNConv(8, 64).to(device), GCNConv(64, 1).to(device)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
losses, devices = [], set()
for _ in range(2):
    for batch in loader:
        batch = batch.to(device)
        optimizer.zero_grad()
        out = global_mean_pool(second(first(batch.x, batch.edge_index).relu(), batch.edge_index), batch.batch)
        loss = torch.nn.functional.mse_loss(out, batch.y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        devices.add(str(batch.x.device))

print(
    json.dumps(
        {
            "devices": sorted(devices),
            "numbers": losses,
            "same": {},
            "took": {"stream": loader.device_helper.stream is not None},
            "allocated": torch.cuda.max_memory_allocated() if device.type == "cuda" else 0,
        }
    )
)
