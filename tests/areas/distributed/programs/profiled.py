"""The kernels of collectives in a profile, as tools that read such files look for them."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
x = torch.ones(8, device="cuda")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    dist.all_reduce(x)
    dist.all_gather_into_tensor(torch.empty(16, device="cuda"), x)
    dist.all_reduce(torch.ones(8, device="cuda", dtype=torch.int32), op=dist.ReduceOp.MAX)
    torch.cuda.synchronize()
prof.export_chrome_trace(f"{sys.argv[1]}/{rank}.json")
with open(f"{sys.argv[1]}/{rank}.json") as file:
    events = json.load(file)["traceEvents"]
rows = sorted((row for row in events if row.get("cat") == "kernel"), key=lambda row: row["ts"])
with open(f"{sys.argv[1]}/{rank}.names", "w") as file:
    json.dump([row["name"] for row in rows if "ccl" in row["name"]], file)
dist.destroy_process_group()
