"""MUSASIM_PROTECT=1: the host ends by a segmentation fault where it touches memory of a device, and the device works as ever."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter

PROTECTED = {"MUSASIM_PROTECT": "1"}

# By what touches the memory: a tensor `x` of 16 bytes on the device, and the one line that a GPU would not bear.
READS = {
    "ctypes reads the address": "ctypes.string_at(x.data_ptr() + 4, 4)",
    "NumPy makes an array of the address": "np.frombuffer((ctypes.c_char * 16).from_address(x.data_ptr()))[0] + 1",
    "PyTorch takes the address for the host's": (
        "torch.frombuffer((ctypes.c_char * 16).from_address(x.data_ptr()), dtype=torch.float32).sum()"
    ),
}
WRITES = {
    "ctypes writes to the address": "ctypes.memset(x.data_ptr(), 0, 4)",
    "NumPy writes to the address": "np.frombuffer((ctypes.c_char * 16).from_address(x.data_ptr()), dtype=np.uint8)[:] = 1",
}
BEGIN = """
import ctypes, sys
import numpy as np
import torch

x = torch.ones(4, device="cuda")
print("before", flush=True)
"""


def touched(
    musa: Interpreter, line: str, begin: str = BEGIN, **options: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    done = musa.run(
        begin + line + "\nprint('after')\n", check=False, forked=True, env={**PROTECTED, **options.get("env", {})}
    )
    assert done.stdout == "before\n"
    assert done.returncode == -signal.SIGSEGV
    return done


@pytest.mark.parametrize(
    ("did", "line"),
    [("read", line) for line in READS.values()] + [("wrote to", line) for line in WRITES.values()],
    ids=[*READS, *WRITES],
)
def test_the_host_cannot_touch_a_tensor_of_the_device(musa: Interpreter, did: str, line: str) -> None:
    said = touched(musa, line).stderr
    assert re.search(
        rf"musasim: the host ({did}|read or wrote to) memory of device 0, at address 0x[0-9a-f]+: "
        r"byte \d+ of the 16 that were allocated for a tensor at 0x[0-9a-f]+\.",
        said,
    ), said


def test_the_report_names_the_byte_and_the_line_of_the_program(musa: Interpreter) -> None:
    said = touched(musa, READS["ctypes reads the address"]).stderr
    assert "byte 4 of the 16" in said
    assert 'File "<string>", line 8 in <module>' in said


def test_code_of_an_extension_cannot_read_it_on_the_host(musa: Interpreter, tmp_path: Path) -> None:
    source = tmp_path / "sum.cpp"
    source.write_text('extern "C" float first(const float* place) { return place[0]; }\n', encoding="utf-8")
    subprocess.run(["c++", "-shared", "-fPIC", "-o", str(tmp_path / "sum.so"), str(source)], check=True)
    call = f"""
library = ctypes.CDLL({str(tmp_path / "sum.so")!r})
library.first.argtypes, library.first.restype = [ctypes.c_void_p], ctypes.c_float
host = x.cpu()
assert library.first(host.data_ptr()) == 1
library.first(x.data_ptr())
"""
    begin = BEGIN.replace('print("before", flush=True)', "")
    done = musa.run(begin + call, check=False, forked=True, env=PROTECTED)
    assert done.returncode == -signal.SIGSEGV and "the host read" in done.stderr


def test_memory_of_the_other_device_and_memory_that_grows_are_closed_too(musa: Interpreter) -> None:
    begin = BEGIN.replace('device="cuda"', 'device="cuda:1"')
    grown = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    said = touched(musa, READS["ctypes reads the address"], begin, env=grown).stderr
    assert "memory of device 1" in said and "byte 4 of the 16" in said


def test_memory_that_no_tensor_has_is_named_so(musa: Interpreter) -> None:
    said = touched(musa, "place = x.data_ptr(); del x; ctypes.string_at(place, 4)").stderr
    assert "memory that belongs to no tensor" in said


def test_a_handler_of_the_program_gets_the_fault_after_the_report(musa: Interpreter) -> None:
    begin = "import faulthandler, sys; faulthandler.enable(all_threads=False)\n" + BEGIN
    said = touched(musa, READS["ctypes reads the address"], begin).stderr
    assert said.index("musasim: the host read") < said.index("Fatal Python error: Segmentation fault")


def test_without_the_switch_the_host_can_read(musa: Interpreter) -> None:
    assert musa.run(BEGIN + READS["ctypes reads the address"], forked=True).stdout == "before\n"


# Programs that let the device work in as many ways as there are. Each compares with the host at its end.
PROGRAMS = {
    "operators": """
        x = torch.randn(64, 64, device="cuda")
        assert torch.allclose((x @ x).cpu(), x.cpu() @ x.cpu(), atol=1e-4)
        assert x[x > 0].numel() == int((x > 0).sum()) == len(torch.nonzero(x > 0))
        assert x.tolist() == x.cpu().tolist() and repr(x) and x[0, 0].item() == x.cpu()[0, 0].item()
        x.resize_(128, 128).fill_(1), x.untyped_storage().resize_(8 << 20)
    """,
    "training": """
        from torch import nn
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3), nn.Dropout(0.5))
        model.cuda()
        batch = torch.randn(8, 1, 8, 8, device="cuda")
        model(batch)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        for _ in range(2):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(batch), torch.zeros(8, dtype=torch.long, device="cuda"))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        assert loss.isfinite().item()
    """,
    "copies": """
        host = torch.arange(1 << 20).pin_memory()
        there = host.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        assert there.to("cuda:1").cpu().equal(host) and host.sum() == there.sum().item()
        import io
        file = io.BytesIO()
        torch.save(there, file), file.seek(0)
        assert torch.load(file).equal(there)
        import copy, numpy
        assert copy.deepcopy(there).equal(there) and numpy.asarray(there.cpu()).sum() == host.sum()
    """,
    "graphs": """
        x = torch.ones(4, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = torch.rand(4, device="cuda") * 0 + x * 2
            x += 1
        graph.replay(), graph.replay()
        assert x.tolist() == [3] * 4 and y.tolist() == [4] * 4
    """,
    "streams": """
        stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(stream):
            x = torch.ones(4, device="cuda").cumsum(0)
            event.record()
        torch.cuda.current_stream().wait_event(event)
        assert x.tolist() == [1, 2, 3, 4]
    """,
    "sparse and quantized": """
        dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]], device="cuda")
        assert dense.to_sparse().coalesce().values().tolist() == [2, 3]
        assert (dense.to_sparse_csr() @ dense).cpu().equal(dense.cpu() @ dense.cpu())
        quantized = torch.quantize_per_tensor(dense, 0.5, 0, torch.qint8)
        assert quantized.dequantize().cpu().equal(dense.cpu())
    """,
    "random numbers": """
        torch.cuda.manual_seed(3)
        first = [torch.rand(8, device="cuda"), torch.randperm(8, device="cuda"), torch.empty(8, device="cuda").exponential_()]
        state = torch.cuda.get_rng_state()
        assert torch.multinomial(torch.ones(4, device="cuda"), 2).numel() == 2
        torch.cuda.set_rng_state(state)
        torch.cuda.manual_seed(3)
        assert torch.rand(8, device="cuda").equal(first[0])
    """,
    "memory that grows": """
        torch.cuda.memory._set_allocator_settings("expandable_segments:True")
        kept = [torch.full((1 << 20,), float(i), device="cuda") for i in range(24)]
        assert [x[-1].item() for x in kept] == list(range(24))
        del kept
        torch.cuda.empty_cache()
        assert torch.ones(3, device="cuda").sum().item() == 3
    """,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_device_works_as_ever(musa: Interpreter, program: str) -> None:
    musa.run("import torch\n" + textwrap.dedent(PROGRAMS[program]), forked=True, env=PROTECTED)


@pytest.mark.full
def test_the_page_shows_the_command_and_what_it_says(musa: Interpreter, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "host-reads.md").read_text(encoding="utf-8")
    assert "MUSASIM_PROTECT=1 torchada run --simulate train.py" in page
    (tmp_path / "train.py").write_text(BEGIN + READS["ctypes reads the address"] + "\n", encoding="utf-8")
    done = musa.run(["-m", "torchada.cli", "run", "--simulate", "train.py"], check=False, env=PROTECTED)
    assert done.returncode == -signal.SIGSEGV
    shown = re.escape(re.search("```text\n(.*?)\n", page)[1])  # type: ignore[index]
    assert re.search(re.sub("0x[0-9a-f]+", "0x[0-9a-f]+", shown), done.stderr), done.stderr
    assert re.search('File ".*train.py", line 8 in <module>', done.stderr)


SENT = """
import torch
import torch.multiprocessing as multiprocessing

def work(queue, answers):
    x = queue.get()
    answers.put(x.sum().item())
    x += 1
    del x
    answers.put("done")

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue, answers = context.Queue(), context.Queue()
    x = torch.arange(4.0, device="cuda")
    process = context.Process(target=work, args=(queue, answers))
    process.start()
    queue.put(x)
    assert answers.get(timeout=200) == 6 and answers.get(timeout=200) == "done"
    process.join(200)
    assert x.tolist() == [1, 2, 3, 4]
"""
RANKS = """
import os, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
x = torch.full((4,), float(rank), device="cuda")
dist.all_reduce(x)
every = [torch.empty_like(x) for _ in range(2)]
dist.all_gather(every, x + rank)
assert x.tolist() == [1] * 4 and [each[0].item() for each in every] == [1, 2]
parts = torch.empty(2, device="cuda")
dist.reduce_scatter_tensor(parts, x)
other = torch.empty_like(x)
for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, other, 1 - rank)]):
    work.wait()
assert parts.tolist() == [2, 2] and other.tolist() == [1] * 4
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1).cuda(), device_ids=[rank])
model(x).sum().backward()
assert model.module.weight.grad.tolist() == [[1] * 4]
dist.destroy_process_group()
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "start"),
    [(SENT, []), (RANKS, ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"])],
    ids=["sent memory", "ranks"],
)
def test_several_processes_work_as_ever(musa: Interpreter, tmp_path: Path, program: str, start: list[str]) -> None:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    musa.run([*start, "program.py"], env={**PROTECTED, "OMP_NUM_THREADS": "1"})


COMPILED = """
import torch
f = torch.compile(lambda x: (x * 2 + 1).relu().sum(0))
x = torch.randn(8, 8, device="cuda")
assert torch.allclose(f(x).cpu(), (x.cpu() * 2 + 1).relu().sum(0))
"""


@pytest.mark.full
def test_compiled_code_works_as_ever(musa: Interpreter, inductor_cache: Path) -> None:
    musa.run(COMPILED, env=PROTECTED)


# Tests of other subjects, which let the device work in every way that there is.
SUITE = (
    *(
        f"tests/musasim/test_{name}.py"
        for name in ["graphs", "training", "host_libraries", "libmccl", "sparse", "quantized"]
    ),
    *(f"tests/musasim/test_{name}.py" for name in ["random_numbers", "device_snippets", "expandable_segments"]),
    *(f"tests/areas/tensors/test_{name}.py" for name in ["serialization", "sharing"]),
)


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("path", SUITE)
def test_a_part_of_the_suite_passes(path: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", path]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **PROTECTED}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.slow
def test_the_programs_of_verify_pass(musa: Interpreter) -> None:
    musa.run(["-m", "torchada.cli", "verify", "--simulate", "--level", "quick"], env=PROTECTED, timeout=1500)
