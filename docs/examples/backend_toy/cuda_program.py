"""A program for CUDA: it knows nothing of the toy, of torchada, or of any other device."""

import io

import torch

torch.manual_seed(0)
torch.cuda.set_device(0)
x = torch.randn(64, 8, device="cuda")
y = x.sum(1, keepdim=True)
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for _ in range(40):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(model(x).float(), y)
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
torch.cuda.empty_cache()

file = io.BytesIO()
torch.save(model.state_dict(), file)
assert b"cuda:0" in file.getvalue()
file.seek(0)
model.load_state_dict(torch.load(file, map_location="cuda:0"))
print(f"{loss.item():.2f} on {x.device} of {torch.cuda.device_count()}, {torch.cuda.get_arch_list()}")

try:
    torch.cuda.memory_stats()
except NotImplementedError as error:
    print(error)
