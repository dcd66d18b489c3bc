"""Processes of torchrun on the host: groups named "nccl" work, and each process has the device of its rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter

pytestmark = pytest.mark.once

PROGRAM = """
import os, torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
device = torch.device("cuda", rank)
dist.init_process_group("nccl", device_id=device)
assert dist.get_backend() == "nccl" and dist.is_nccl_available() and torch.cuda.device_count() == 2
x = torch.full((2,), rank + 1.0, device=device)
dist.all_reduce(x)
assert x.tolist() == [3, 3] and x.device == device
parts = [torch.zeros(2, device=device) for _ in range(2)]
dist.all_gather(parts, torch.full((2,), float(rank), device=device))
assert [part[0].item() for part in parts] == [0, 1]
whole = torch.zeros(2, device=device)
dist.all_gather_into_tensor(whole, torch.ones(1, device=device) * rank)
objects = [None, None]
dist.all_gather_object(objects, {"rank": rank})
dist.broadcast(x, src=1)
dist.barrier(device_ids=[rank])
group = dist.new_group([0, 1], backend="nccl")
dist.all_reduce(x, group=group)
torch.manual_seed(0)
net = DistributedDataParallel(nn.Linear(4, 1).to(device), device_ids=[rank], output_device=rank)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    net(torch.full((2, 4), rank + 1.0, device=device)).square().mean().backward()
    optimizer.step()
weights = [torch.zeros(1, 4, device=device) for _ in range(2)]
dist.all_gather(weights, net.module.weight.detach())
assert torch.equal(*weights)
mesh = torch.distributed.init_device_mesh("cuda", (2,))
assert mesh.device_type == "cuda"
dist.destroy_process_group()
with open(f"rank{rank}", "w") as file:  # lines that two processes print may be mixed up
    print(objects, whole.tolist(), file=file)
"""
# DistributedDataParallel keeps its group's threads of Gloo's until the process ends, on a plain CPU too. PyTorch aborts one
# in which one of them still has a tensor to release when Python ends, which happens on a busy machine.
END = "os._exit(0)\n"


@pytest.mark.full
def test_two_processes(host: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM + END)
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "program.py"]
    host.run(command, env={"OMP_NUM_THREADS": "1"})
    for rank in range(2):
        assert (tmp_path / f"rank{rank}").read_text() == "[{'rank': 0}, {'rank': 1}] [0.0, 1.0]\n"


SYNCED = """
import os, torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
torch.manual_seed(0)
whole = torch.randn(8, 3, 4, dtype=torch.float64)
target = torch.randn(8, 3, 4, dtype=torch.float64)
plain = nn.BatchNorm1d(3).double()
plain.weight.data.uniform_(), plain.bias.data.uniform_()
net = nn.SyncBatchNorm(3).double()
net.load_state_dict(plain.state_dict())
net = DistributedDataParallel(net.cuda(), device_ids=[rank])
parts = (slice(0, 3), slice(3, 8))  # of different lengths
x = whole[parts[rank]].cuda().requires_grad_()
# DDP takes the mean over the processes, so that the sum has to be twice as large.
((net(x) * target[parts[rank]].cuda()).sum() * 2).backward()
reference = whole.clone().requires_grad_()
(plain(reference) * target).sum().backward()

def close(mine, theirs):
    torch.testing.assert_close(mine, theirs, check_device=False)

close(x.grad.cpu() / 2, reference.grad[parts[rank]])
close(net.module.weight.grad.cpu(), plain.weight.grad)
close(net.module.bias.grad.cpu(), plain.bias.grad)
close(net.module.running_mean.cpu(), plain.running_mean)
close(net.module.running_var.cpu(), plain.running_var)
rows = torch.empty(1, 4, device="cuda")
dist.all_gather_into_tensor(rows, torch.full((2,), float(rank), device="cuda"))
assert rows.tolist() == [[0, 0, 1, 1]]
assert len(torch.cuda.nccl.version()) == 3
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_batch_norm_over_all_processes(host: Interpreter, tmp_path: Path) -> None:
    """Statistics and gradients are those of one process with the whole batch."""
    (tmp_path / "program.py").write_text(SYNCED + END)
    command = ["-W", "ignore", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "program.py"]
    host.run(command, env={"OMP_NUM_THREADS": "1"})


@pytest.mark.slow
@pytest.mark.parametrize("example", ["train_ddp.py", "train_fsdp.py"])
def test_examples(plain: Interpreter, tmp_path: Path, example: str) -> None:
    """On two processes, to the accuracy that two epochs reach on the simulator too."""
    plain.cwd = tmp_path
    command = [
        "-m",
        "torchada",
        "run",
        "--on",
        "cpu",
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
    ]
    done = plain.run(
        [*command, "2", str(ROOT / "docs" / "examples" / example), "--epochs", "2"], env={"OMP_NUM_THREADS": "1"}
    )
    accuracies = [float(part.partition("%")[0]) for part in done.stdout.split("test accuracy ")[1:]]
    assert len(accuracies) == 2 and accuracies[-1] > 60 and "cuda:1" in done.stdout


@pytest.mark.full
def test_groups_by_every_name(host: Interpreter, tmp_path: Path) -> None:
    code = f"""
        import torch, torch.distributed as dist
        names = {{"nccl": "nccl", "cuda:nccl": "cuda:nccl", "cpu:gloo,cuda:nccl": "cpu:gloo,cuda:nccl", None: "nccl"}}
        for number, (given, shown) in enumerate(names.items()):
            device = dict(device_id=torch.device("cuda", 0)) if given is None else {{}}
            dist.init_process_group(given, init_method=f"file://{tmp_path}/{{number}}", rank=0, world_size=1, **device)
            x = torch.ones(2, device="cuda")
            dist.all_reduce(x)
            assert dist.get_backend() == shown and x.is_cuda and "cuda:nccl" in dist.get_backend_config()
            options = dist.ProcessGroupNCCL.Options()
            options.config.max_ctas = 32
            assert options.config.max_ctas == 32
            assert dist.get_backend(dist.new_group([0], backend="nccl", pg_options=options)) == "nccl"
            dist.destroy_process_group()
        from torch.distributed.run import determine_local_world_size, parse_args
        for asked, number in (("gpu", 2), ("auto", 2), ("3", 3)):
            given = parse_args(["--nproc-per-node", asked, "x.py"]).nproc_per_node
            assert determine_local_world_size(given) == number
    """
    host.run(code, env={"CUDA_VISIBLE_DEVICES": "0,1"})
