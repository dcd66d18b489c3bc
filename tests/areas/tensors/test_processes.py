"""Child processes of every kind are redirected as their parent is, and fork after initialisation fails as it does on CUDA."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.tiers import rarely

pytestmark = pytest.mark.musa

SPAWN = """
import torch
import torch.multiprocessing as mp

def work(rank, results):
    torch.cuda.set_device(rank)
    x = torch.full((2,), float(rank), device="cuda")
    results.put((rank, str(x.device), x.cpu().tolist()))

if __name__ == "__main__":
    torch.zeros(1, device="cuda")
    context = mp.get_context("{method}")
    results = context.SimpleQueue()
    mp.start_processes(work, args=(results,), nprocs=2, start_method="{method}")
    print(sorted(results.get() for _ in range(2)))
"""


@pytest.mark.full
@pytest.mark.parametrize("method", rarely(["spawn", "forkserver"], "forkserver"))
def test_multiprocessing(musa: Interpreter, tmp_path: Path, method: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(SPAWN.replace("{method}", method))
    assert musa.run([str(script)]).stdout.strip() == "[(0, 'cuda:0', [0.0, 0.0]), (1, 'cuda:1', [1.0, 1.0])]"


@pytest.mark.full
def test_a_device_goes_to_a_spawned_process(musa: Interpreter, tmp_path: Path) -> None:
    script = tmp_path / "spawn.py"
    script.write_text(
        """
import torch
import torch.multiprocessing as mp

def work(rank, device, answers):
    answers.put((device, type(device) is torch.device, str(torch.zeros(1, device=device).device)))

if __name__ == "__main__":
    answers = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, args=(torch.device("cuda:1"), answers))
    print(answers.get() == (torch.device("cuda:1"), True, "cuda:1"))
"""
    )
    assert musa.run([str(script)]).stdout.strip() == "True"


def test_fork_before_initialisation(musa: Interpreter) -> None:
    done = musa.run(
        """
        import os, torch
        if os.fork() == 0:
            print(torch.zeros(1, device="cuda").device, flush=True)
            os._exit(0)
        os.wait()
        """,
        forked=True,
    )
    assert done.stdout.strip() == "cuda:0"


def test_a_fork_while_another_thread_holds_our_locks(plain: Interpreter) -> None:
    """As one does that is importing torch just then: in the child there is nobody to release them."""
    code = """
        import os, signal, threading
        import torchada
        from torchada.hooks.state import STATE
        from torchada.redirect.engine import ENGINE

        held, done = threading.Event(), threading.Event()
        def hold():
            with ENGINE._lock, STATE.lock:
                held.set()
                done.wait()
        threading.Thread(target=hold).start()
        held.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            torchada.disable()
            torchada.enable()
            os._exit(7)
        _, status = os.waitpid(child, 0)
        done.set()
        print(os.waitstatus_to_exitcode(status))
    """
    assert plain.json(code) == 7


def test_fork_after_initialisation_is_refused(musa: Interpreter) -> None:
    done = musa.run(
        """
        import os, torch
        torch.zeros(1, device="cuda")
        if os.fork() == 0:
            try:
                torch.zeros(1, device="cuda")
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
        """,
        forked=True,
    )
    # The portable mechanism leaves errors of Python's own classes as torch_musa words them.
    device = "MUSA" if os.environ.get("TORCHADA_NATIVE") == "0" else "CUDA"
    assert f"Cannot re-initialize {device} in forked subprocess" in done.stdout


@pytest.mark.full
def test_subprocess(musa: Interpreter) -> None:
    code = """
    import subprocess, sys
    print(subprocess.check_output([sys.executable, "-c", "import torch; print(torch.zeros(1).cuda().device)"], text=True))
    """
    assert musa.run(code).stdout.strip() == "cuda:0"


@pytest.mark.full
def test_data_loader_workers_and_pinned_batches(musa: Interpreter, tmp_path: Path) -> None:
    script = tmp_path / "load.py"
    script.write_text(
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    data = TensorDataset(torch.arange(32.0), torch.arange(32))
    for workers in (0, 2):
        for batch, labels in DataLoader(data, batch_size=8, num_workers=workers, pin_memory=True):
            assert batch.is_pinned() and labels.is_pinned(), workers
            assert batch.cuda(non_blocking=True).is_cuda
    print("loaded")
"""
    )
    assert musa.run([str(script)]).stdout.strip() == "loaded"
