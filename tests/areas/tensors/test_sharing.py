"""Unchanged CUDA code with several processes: tensors, modules and events of the device go from one to the other.

Every test is a script of its own, whose children are started by spawn or forkserver and find the redirection by themselves. Each
runs as with the vendor's build of torch and as with PyPI's, which knows nothing of sharing this kind of device.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.tiers import rarely

pytestmark = [pytest.mark.musa, pytest.mark.once]


@pytest.fixture(params=[pytest.param("vendor", marks=pytest.mark.slow), "stock"])
def torch_of(request: pytest.FixtureRequest, musa: Interpreter) -> Interpreter:
    musa.env["MUSASIM_STOCK_TORCH"] = str(int(request.param == "stock"))
    return musa


def run(interpreter: Interpreter, tmp_path: Path, script: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(script)
    return interpreter.run(["-W", "error", str(path)]).stdout.strip()


QUEUE = """
import torch
import torch.multiprocessing as mp

def work(rank, tasks, answers, model, shared):
    whole, part = tasks.get()
    part.mul_(2)
    with torch.no_grad():
        model.weight.fill_(7)
        model.scale.add_(1)
    shared[rank] = 5
    answers.put((str(whole.device), whole.is_cuda, whole.tolist(), type(model.weight).__name__, model.weight.requires_grad))
    answers.put(torch.full((2,), 3.0, device="cuda:1"))
    tasks.get()

if __name__ == "__main__":
    context = mp.get_context("METHOD")
    tasks, answers = context.Queue(), context.SimpleQueue()
    model = torch.nn.Linear(1, 2, bias=False).cuda()
    model.register_buffer("scale", torch.zeros(1, device="cuda"))
    assert model.share_memory() is model and model.weight.is_shared()
    shared = torch.zeros(2, device="cuda:1").share_memory_()
    whole = torch.arange(4.0, device="cuda:1")
    child = context.Process(target=work, args=(1, tasks, answers, model, shared))
    child.start()
    tasks.put((whole, whole[2:]))
    assert answers.get() == ("cuda:1", True, [0, 1, 4, 6], "Parameter", True)
    assert whole.tolist() == [0, 1, 4, 6], whole
    assert model.weight.tolist() == [[7], [7]] and model.scale.tolist() == [1]
    assert shared.tolist() == [0, 5]
    received = answers.get()
    assert received.device == torch.device("cuda:1") and received.tolist() == [3, 3]
    del received
    tasks.put(None)
    child.join()
    assert child.exitcode == 0
    print("shared")
"""


@pytest.mark.full
@pytest.mark.parametrize("method", rarely(["spawn", "forkserver"], "forkserver"))
def test_both_see_what_either_writes(torch_of: Interpreter, tmp_path: Path, method: str) -> None:
    assert run(torch_of, tmp_path, QUEUE.replace("METHOD", method)) == "shared"


@pytest.mark.full
def test_pipe_pool_and_spawn(torch_of: Interpreter, tmp_path: Path) -> None:
    script = """
import torch
import torch.multiprocessing as mp

def send(end):
    kept = torch.ones(2, requires_grad=True, device="cuda")
    end.send((kept, {"nested": [kept.detach()[:1]]}))
    end.recv()

def square(x):
    return (x * x).cpu()

def train(rank, weight, done):
    torch.cuda.set_device(rank)
    weight[rank] = rank + 1
    done.put((rank, torch.cuda.current_device(), str(torch.zeros(1).cuda().device)))

if __name__ == "__main__":
    context = mp.get_context("spawn")
    mine, theirs = context.Pipe()
    child = context.Process(target=send, args=(theirs,))
    child.start()
    leaf, rest = mine.recv()
    assert leaf.requires_grad and leaf.is_leaf and leaf.is_cuda
    assert rest["nested"][0].data_ptr() == leaf.data_ptr()
    mine.send(None)
    child.join()
    with context.Pool(1) as pool:
        xs = [torch.full((2,), float(i), device="cuda") for i in range(3)]
        assert [y.tolist() for y in pool.map(square, xs)] == [[0, 0], [1, 1], [4, 4]]
    weight = torch.zeros(2, device="cuda:0")
    done = context.SimpleQueue()
    mp.spawn(train, args=(weight, done), nprocs=2)
    assert weight.tolist() == [1, 2]
    assert sorted(done.get() for _ in range(2)) == [(0, 0, "cuda:0"), (1, 1, "cuda:1")]
    print("done")
"""
    assert run(torch_of, tmp_path, script) == "done"


@pytest.mark.slow
def test_events_between_processes(torch_of: Interpreter, tmp_path: Path) -> None:
    script = """
import torch
import torch.multiprocessing as mp

def wait(events, answers):
    answers.put("started")
    event, handle = events.get()
    opened = torch.cuda.Event.from_ipc_handle(torch.device("cuda:1"), handle)
    answers.put((isinstance(event, torch.cuda.Event), event.query(), opened.query()))
    torch.cuda.current_stream().wait_event(event)
    torch.cuda.synchronize()
    answers.put((event.query(), opened.query()))

if __name__ == "__main__":
    context = mp.get_context("spawn")
    events, answers = context.SimpleQueue(), context.SimpleQueue()
    child = context.Process(target=wait, args=(events, answers))
    child.start()
    assert answers.get() == "started"
    event = torch.cuda.Event(interprocess=True)
    with torch.cuda.device(1):
        torch.cuda._sleep(8_000_000_000)
        event.record()
    events.put((event, event.ipc_handle()))
    assert answers.get() == (True, False, False)
    assert answers.get() == (True, True)
    assert event.query()
    child.join()
    print("waited")
"""
    assert run(torch_of, tmp_path, script) == "waited"


def test_names_that_programs_take_from_reductions(torch_of: Interpreter, tmp_path: Path) -> None:
    """Engines that hand weights over build their own messages from these."""
    script = """
import torch
from torch.multiprocessing.reductions import rebuild_cuda_tensor, reduce_storage, reduce_tensor

x = torch.arange(6.0, device="cuda:1")
rebuild, args = reduce_tensor(x[2:])
assert rebuild is rebuild_cuda_tensor and args[6] == 1
device, handle, size, offset, counter, index, event, wait = x.untyped_storage()._share_cuda_()
assert (device, size, bytes(handle)) == (1, 24, bytes(args[7]))
y = rebuild(*args)
y.fill_(1)
assert x.tolist() == [0, 1, 1, 1, 1, 1]
assert x.is_shared() and x.untyped_storage().is_shared() and x.share_memory_() is x
for refused, message in ((x.untyped_storage(), "Cannot pickle CUDA storage"),):
    try:
        reduce_storage(refused)
    except RuntimeError as error:
        assert message in str(error)
    else:
        raise AssertionError
torch.cuda.ipc_collect()
torch.sparse.check_sparse_tensor_invariants.disable()
sparse_rebuild, sparse_args = reduce_tensor(torch.eye(2, device="cuda").to_sparse())
assert sparse_rebuild(*sparse_args).to_dense().tolist() == [[1, 0], [0, 1]]
assert reduce_tensor(torch.zeros(2))[0] is not rebuild_cuda_tensor
print("known")
"""
    assert run(torch_of, tmp_path, script) == "known"


@pytest.mark.full
def test_sending_what_has_a_history_is_refused(torch_of: Interpreter, tmp_path: Path) -> None:
    script = """
import torch
from torch.multiprocessing.reductions import reduce_tensor
try:
    reduce_tensor(torch.ones(2, device="cuda", requires_grad=True) * 2)
except RuntimeError as error:
    print(str(error)[:17])
"""
    assert run(torch_of, tmp_path, script) == "Cowardly refusing"


@pytest.mark.full
def test_fork_after_initialisation_names_spawn(musa: Interpreter, tmp_path: Path) -> None:
    script = """
import torch
import torch.multiprocessing as mp

def work(answers):
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        answers.put(str(error))

if __name__ == "__main__":
    torch.zeros(1, device="cuda")
    context = mp.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=work, args=(answers,))
    child.start()
    print(answers.get())
    child.join()
"""
    assert "'spawn' start method" in run(musa, tmp_path, script)


@pytest.mark.full
def test_batches_on_the_device_from_loader_workers(torch_of: Interpreter, tmp_path: Path) -> None:
    """Not advised, on CUDA either, but possible with spawn."""
    script = """
import torch
from torch.utils.data import DataLoader, Dataset

class OnDevice(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.full((2,), float(index), device="cuda")

if __name__ == "__main__":
    seen = [batch[:, 0].tolist() for batch in DataLoader(OnDevice(), batch_size=2, num_workers=1, multiprocessing_context="spawn")]
    assert seen == [[0, 1], [2, 3]], seen
    print("loaded")
"""
    assert run(torch_of, tmp_path, script) == "loaded"


@pytest.mark.full
@pytest.mark.parametrize("force", ["0", "1"])
def test_data_parallel_on_either_torch(torch_of: Interpreter, tmp_path: Path, force: str) -> None:
    """torch.nn.parallel asks which devices there are in one way where CUDA says it is available, and in another where not."""
    torch_of.env["TORCHADA_FORCE_CUDA_AVAILABLE"] = force
    script = """
import torch
from torch import nn
from torch.cuda import comm
torch.manual_seed(0)
one = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).cuda()
two = nn.DataParallel(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).cuda(), device_ids=["cuda:0", "cuda:1"])
two.module.load_state_dict(one.state_dict())
x = torch.randn(5, 3)
for net in (one, two):
    net(x.cuda()).pow(2).mean().backward()
for a, b in zip(one.parameters(), two.parameters()):
    assert torch.allclose(a.grad, b.grad) and b.grad.device == torch.device("cuda:0")
assert torch._utils._get_all_device_indices() == [0, 1]
assert nn.DataParallel(one).device_ids == [0, 1]
assert comm.gather(comm.scatter(x, [0, 1]), out=torch.empty(5, 3)).tolist() == x.tolist()
print("same")
"""
    assert run(torch_of, tmp_path, script) == "same"
