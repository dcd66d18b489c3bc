"""TORCHADA_ENABLE_CPP_OPS: overrides of operators are compiled once, give the CPU's results, and go without leaving a trace."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from support import vendor_python
from support.interpreter import ROOT, Interpreter
from torchada.areas.kernels.overrides import compiler, overrides, sources, toolchain
from torchada.areas.kernels.overrides.compiler import Builder, CompileError, Compiler
from torchada.areas.kernels.overrides.library import Override
from torchada.base.caches import cache

pytestmark = pytest.mark.once

# On the release that all of them are for: 2.11.0 needs no log_.
ENABLED = {"TORCHADA_ENABLE_CPP_OPS": "1", "MUSASIM_RELEASE": "2.7.1"}
OWN = ("bmm", "isfinite", "log_", "mm")
# The kernels of bmm are those of mm over again, and compiling them takes ten seconds.
WITHOUT_BMM = {**ENABLED, "TORCHADA_DISABLE_OP_OVERRIDE_bmm": "1"}
NONE_OF_OURS = {f"TORCHADA_DISABLE_OP_OVERRIDE_{name}": "1" for name in OWN}

# What a user of CUDA would write, with the CPU's results beside it.
PROGRAM = """
import json, os
import torch, torchada

def kernels(name):
    table = torch._C._dispatch_dump_table(f"aten::{name}").splitlines()
    return [line for line in table if line.startswith("PrivateUse1:")]

found = {}
torch.manual_seed(0)
a, b = torch.randn(3, 4, 5).half(), torch.randn(3, 5, 2).half()
if hasattr(torch.ops.aten.mm, "dtype"):
    mm = torch.mm(a[0].cuda(), b[0].cuda(), out_dtype=torch.float32)
    out = torch.empty(4, 2, device="cuda")
    torch.mm(a[0].cuda(), b[0].cuda(), out_dtype=torch.float32, out=out)
    want = torch.bmm(a.float(), b.float())
    with torch.autocast("cuda"):
        found["mm under autocast"] = torch.equal(torch.mm(a[0].cuda(), b[0].cuda(), out_dtype=torch.float32), mm)
    found["mm"] = mm.is_cuda and torch.equal(mm.cpu(), want[0]) and torch.equal(out.cpu(), want[0])
    if "TORCHADA_DISABLE_OP_OVERRIDE_bmm" not in os.environ:
        bmm = torch.bmm(a.cuda(), b.cuda(), out_dtype=torch.float32)
        found["bmm"] = bmm.dtype == torch.float32 and torch.equal(bmm.cpu(), want)
    try:
        torch.mm(a[0].cuda(), b[0].cuda(), out_dtype=torch.float64)
    except RuntimeError as error:
        found["mm refuses"] = "out_dtype must be" in str(error)

values = torch.tensor([0.0, -1.5, float("nan"), float("inf"), -float("inf"), 65504.0])
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.int32):
    x = values.nan_to_num(0, 0, 0).to(dtype) if dtype == torch.int32 else values.to(dtype)
    found[f"isfinite {dtype}"] = torch.equal(x.cuda().isfinite().cpu(), x.isfinite())
x = torch.randn(3, 5, 7).cuda()
found["isfinite keeps strides"] = x.transpose(0, 2).isfinite().stride() == x.transpose(0, 2).stride()
found["isfinite takes any strides"] = x[:, ::2, 1:].isfinite().all().item() and x[:0].isfinite().shape == (0, 5, 7)
x = values.cuda().requires_grad_()
found["isfinite records nothing"] = not torch.isfinite(x).requires_grad

for dtype in (torch.float16, torch.float32, torch.float64):
    x = (torch.rand(64) + 0.1).to(dtype)
    y = x.cuda()
    z = y.log_()
    found[f"log_ {dtype}"] = z is y and torch.equal(y.cpu(), x.log_())
    x = (torch.rand(8) + 0.1).to(dtype).cuda().requires_grad_()
    (x * 2).log_().sum().backward()
    found[f"log_ has a derivative in {dtype}"] = torch.allclose(x.grad, 1 / x.detach())

compiled = torch.compile(lambda x: x.isfinite() & (x > 0), backend="aot_eager")
found["compiled"] = torch.equal(compiled(values.cuda()).cpu(), values.isfinite() & (values > 0))

before = kernels("log_")
found["kernel"] = "log_.cpp" in before[0]
with torchada.disabled():
    found["undone"] = "cpp_ops" not in str([kernels("log_"), kernels("isfinite"), kernels("mm.dtype")])
found["again"] = kernels("log_") == before
print(json.dumps(found))
"""


def calls(done: subprocess.CompletedProcess[str]) -> set[str]:
    return set(re.findall(r"^torchada: aten::(\S+) called$", done.stderr, re.MULTILINE))


@pytest.mark.full
@pytest.mark.parametrize("env", [WITHOUT_BMM, pytest.param(ENABLED, marks=pytest.mark.slow)], ids=["some", "all"])
def test_overrides_give_the_results_of_the_cpu(musa: Interpreter, env: dict[str, str]) -> None:
    """Compiles the files where that has not been done before, which takes about twenty seconds."""
    # A gate in C++ would stand before a kernel until a probe has found that it is right.
    found = musa.json(PROGRAM, env={**env, "TORCHADA_CPP_GATES": "0"}, timeout=550)
    assert found
    assert [name for name, right in found.items() if not right] == []


@pytest.mark.full
def test_each_is_called_unless_its_variable_says_no(musa: Interpreter) -> None:
    env = {**WITHOUT_BMM, "TORCHADA_DEBUG_CPP_OPS": "1", "TORCHADA_DISABLE_OP_OVERRIDE_LOG_": "1"}
    code = """
        import torch
        x = torch.rand(3, 3, device="cuda").log_().isfinite()
        if hasattr(torch.ops.aten.mm, "dtype"):
            torch.mm(x.half(), x.half(), out_dtype=torch.float32)
        assert "cpp_ops" not in torch._C._dispatch_dump_table("aten::log_")
        assert "isfinite.mu" in torch._C._dispatch_dump_table("aten::isfinite"), "where it is written"
    """
    done = musa.run(code, env=env, timeout=550)
    assert calls(done) - {"mm.dtype"} == {"isfinite"}
    assert ("mm.dtype" in calls(done)) == _has_out_dtype()


def _has_out_dtype() -> bool:
    import torch

    return hasattr(torch.ops.aten.mm, "dtype")


def test_not_asked_for_it_is_not_there(musa: Interpreter) -> None:
    code = """
        import sys, torch
        x = torch.ones(2, device="cuda").isfinite()
        assert not [name for name in sys.modules if name.startswith("torchada.areas.kernels.overrides")]
        from torchada.control import status
        print(status.report()["areas"])
    """
    done = musa.run(code, env={"TORCHADA_DEBUG_CPP_OPS": "1"})
    assert calls(done) == set()
    assert "TORCHADA_ENABLE_CPP_OPS is not set" in done.stdout


BROKEN = '#include "nothing_of_the_kind.h"\nint x = y;\n'
EMPTY = "int answer = 42;\n"


@pytest.mark.full
def test_an_override_that_does_not_compile_costs_one_warning(musa: Interpreter, tmp_path: Path) -> None:
    """The program goes on without it and with the others, and status tells; in strict mode it raises."""
    ops = tmp_path / "ops"
    ops.mkdir()
    (ops / "neg.cpp").write_text(BROKEN)
    (ops / "abs.cpp").write_text(EMPTY)
    env = {**ENABLED, **NONE_OF_OURS, "TORCHADA_CPP_OPS_PATH": str(ops), "TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    lenient = {**env, "TORCHADA_STRICT": "0", "TORCHADA_CPP_OPS_VERBOSE": "1"}
    code = "import torch; print((-torch.ones(1, device='cuda')).item())"
    done = musa.run(code, env=lenient)
    assert done.stdout.strip() == "-1.0"
    assert done.stderr.count("TORCHADA_DISABLE_OP_OVERRIDE_neg=1 leaves it out") == 1
    assert "nothing_of_the_kind.h" in done.stderr and f"{ops}/abs.cpp -o" in done.stderr
    status = musa.run(["-m", "torchada.hooks", "status", "--probe"], env=lenient, check=False).stdout
    assert re.search(r"^warning .*aten::neg is not overridden", status, re.MULTILINE)
    refused = musa.run(code, env=env, check=False)
    assert refused.returncode != 0 and "TorchadaError" in refused.stderr and "neg.cpp" in refused.stderr
    left_out = musa.run(code, env={**env, "TORCHADA_DISABLE_OP_OVERRIDE_neg": "1"})
    assert left_out.stderr == "", "and what is compiled is not compiled again"


@pytest.mark.slow
def test_the_recipe(musa: Interpreter, tmp_path: Path) -> None:
    """The example of the documentation, from a folder of the user's."""
    (source,) = re.findall(
        r"^```cpp\n// (\w+\.cpp)\n(.*?)^```", (ROOT / "docs" / "how-to" / "cpp-overrides.md").read_text(), re.M | re.S
    )
    (tmp_path / source[0]).write_text(source[1])
    env = {**ENABLED, **NONE_OF_OURS, "TORCHADA_CPP_OPS_PATH": str(tmp_path), "TORCHADA_DEBUG_CPP_OPS": "1"}
    code = """
        import torch
        x = torch.linspace(-2, 2, 9, device="cuda", requires_grad=True)
        y = torch.nn.functional.hardtanh(x)
        y.sum().backward()
        want = x.detach().cpu().requires_grad_()
        torch.nn.functional.hardtanh(want).sum().backward()
        assert torch.equal(y.cpu(), want.clamp(-1, 1)) and torch.equal(x.grad.cpu(), want.grad)
        try:
            torch.nn.functional.hardtanh(x.detach().cfloat())
        except RuntimeError as error:
            print(error)  # the original's own words
    """
    done = musa.run(code, env={**env, "TORCHADA_CACHE_DIR": str(tmp_path / "cache")}, timeout=550)
    assert calls(done) == {"hardtanh"}
    assert "muDNN only support" in done.stdout


@pytest.mark.full
@pytest.mark.parametrize("before", ["", vendor_python.IMPORTS_THE_BUILDER], ids=["alone", "with cpp_extension"])
def test_a_cache_that_cannot_be_used_costs_one_warning(musa: Interpreter, tmp_path: Path, before: str) -> None:
    """It names the variable that chooses another one; the program goes on without the overrides."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    env = {**ENABLED, "TORCHADA_CACHE_DIR": str(tmp_path / "cache"), "TORCHADA_STRICT": "0"}
    done = musa.run(before + "import torch; print(torch.ones(1, device='cuda').log_().item())", env=env)
    assert done.stdout.strip() == "0.0"
    assert done.stderr.count("set TORCHADA_CACHE_DIR to a folder of your own") == 1 and "chmod go-w" in done.stderr


def plain_command() -> tuple[list[str], list[str]]:
    return ["c++", "-shared", "-fPIC"], []


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    """For sources that need nothing of PyTorch's."""
    return Builder(cache("cpp_ops", str(tmp_path / "cache")), {".cpp": lambda: Compiler("1", plain_command)})


def test_a_source_is_compiled_once(builder: Builder, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, header = tmp_path / "one.cpp", tmp_path / "one.h"
    source.write_text('#include "one.h"\n')
    header.write_text("int one = 1;\n")
    first = builder.build([source])[source]
    assert isinstance(first, Path) and first.exists() and "compiling" in capfd.readouterr().err
    written = first.stat().st_mtime_ns
    assert builder.build([source]) == {source: first} and first.stat().st_mtime_ns == written
    assert capfd.readouterr().err == ""
    header.write_text("int one = 2;\n")
    assert builder.build([source])[source] not in (first, None), "a header has changed"
    other = Builder(builder.cache, {".cpp": lambda: Compiler("2", plain_command)})
    assert other.build([source])[source] != builder.build([source])[source], "another PyTorch"


def test_a_failed_compilation_leaves_nothing(builder: Builder, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.cpp", tmp_path / "bad.cpp"
    good.write_text(EMPTY)
    bad.write_text(BROKEN)
    built = builder.build([bad, good])
    assert isinstance(built[good], Path) and isinstance(built[bad], CompileError)
    entries = [path for path in builder.cache.folder.iterdir() if path.is_dir()]
    assert entries == [built[good].parent]


def test_two_at_a_time_compile_once(builder: Builder, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whoever comes second waits, and finds the work done."""
    source = tmp_path / "one.cpp"
    source.write_text(EMPTY)
    entry = f"one-{builder.compilers['.cpp']().key(source)}"
    with ThreadPoolExecutor(1) as pool, builder.cache.lock(compiler.LOCK):
        waiting = pool.submit(builder.build, [source])
        while "waiting for another process" not in capfd.readouterr().err:
            assert not waiting.done()
        with builder.cache.stored(entry) as place:
            (place / "one.so").write_bytes(b"made by the other one")
    target = builder.cache.folder / entry / "one.so"
    assert waiting.result() == {source: target} and target.read_bytes() == b"made by the other one"


def test_a_damaged_override_is_compiled_again(
    builder: Builder, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "one.cpp"
    source.write_text(EMPTY)
    first = builder.build([source])[source]
    assert isinstance(first, Path)
    whole = first.read_bytes()
    first.write_bytes(whole[: len(whole) // 2])
    assert builder.build([source]) == {source: first} and first.read_bytes() == whole
    assert "one.so has changed since it was stored" in capfd.readouterr().err


def test_whose_file_is_meant(tmp_path: Path) -> None:
    (tmp_path / "mm.cpp").touch()
    (tmp_path / "notes.txt").touch()
    found = {path.stem: path for path in sources.find([str(tmp_path)], [".cpp"], ["LOG_"])}
    assert found["mm"] == tmp_path / "mm.cpp" and found["bmm"].parent == sources.OWN
    assert "notes" not in found and "log_" not in found
    with pytest.raises(NotADirectoryError, match="TORCHADA_CPP_OPS_PATH"):
        sources.find([str(tmp_path / "nowhere")], [".cpp"], [])


@pytest.mark.parametrize(
    ("text", "target", "flags"),
    [
        ("compute capability:              2.1", "", ["-a21"]),
        ("major:   3\nminor:   1\n\nmajor:   2\nminor:   2\n", "", ["-a22", "-a31"]),
        ("major: 3\nminor: 1", "mp_22", ["-a22"]),
        ("no devices", "", None),
    ],
)
def test_for_which_device_it_is_compiled(
    text: str, target: str, flags: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "bin" / "info"
    info.parent.mkdir()
    info.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    info.chmod(0o755)
    monkeypatch.setenv("TARGET", target)
    context = SimpleNamespace(
        backend=SimpleNamespace(build=SimpleNamespace(compiler=SimpleNamespace(target_variable="TARGET")))
    )
    toolkit = SimpleNamespace(lister="info", arch_flag="-a{}", folder=lambda *parts: str(tmp_path.joinpath(*parts)))
    if flags is None:
        with pytest.raises(CompileError, match="set TARGET"):
            toolchain._architectures(context, toolkit)  # type: ignore[arg-type]
    else:
        assert toolchain._architectures(context, toolkit) == flags  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("until", "version", "needed"),
    [
        ("2.13.0", "2.7.1", True),
        ("2.13.0", "2.13.0", False),
        ("2.13.0", "2.13.0.post1+musa5.2.0", False),
        ("2.11.0.post2", "2.11.0.post1+musa5.2.0", True),
        ("2.11.0.post2", "2.11.0", True),
        ("2.11.0.post2", "2.11.0.post2", False),
        ("", "99", True),
    ],
)
def test_an_adapter_that_can_do_it_itself_does(until: str, version: str, needed: bool) -> None:
    override = Override("log_", until, "log_.cpp", None, 0)  # type: ignore[arg-type]
    context = SimpleNamespace(
        backend=SimpleNamespace(adapter="adapter"),
        namespace=SimpleNamespace(__version__=version),
        torch=SimpleNamespace(__version__="2.13.0"),
    )
    reason = overrides._not_needed(override, context, frozenset(["aten::log_"]))  # type: ignore[arg-type]
    assert (reason is None) == needed
    assert overrides._not_needed(override, context, frozenset()) is not None, "not of this PyTorch"  # type: ignore[arg-type]
