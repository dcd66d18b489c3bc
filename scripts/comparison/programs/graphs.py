"""Captures a step in a CUDA graph and replays it with new inputs."""

import torch

torch.manual_seed(0)
net = torch.nn.Linear(16, 4).cuda()
given = torch.zeros(8, 16, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    net(given)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.no_grad(), torch.cuda.graph(graph):
    out = net(given)
fresh = torch.randn(8, 16)
given.copy_(fresh)
graph.replay()
torch.cuda.synchronize()
assert torch.allclose(out, net(fresh.cuda()))
print("sum", out.sum().item())
