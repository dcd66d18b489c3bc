"""mm, bmm, addmm and baddbmm with out_dtype, where the device's own kernels are missing, wrong or right."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from support.interpreter import Interpreter

needs_out_dtype = pytest.mark.skipif(
    not hasattr(torch.ops.aten.mm, "dtype"), reason="out_dtype exists from torch 2.8 on"
)
pytestmark = needs_out_dtype

PRODUCTS = {"mm": (2, False), "bmm": (3, False), "addmm": (2, True), "baddbmm": (3, True)}


def _tensors(name: str, dtype: torch.dtype) -> list[torch.Tensor]:
    dimensions, adds = PRODUCTS[name]
    lead = (2,) if dimensions == 3 else ()
    torch.manual_seed(0)
    a, b = torch.randn(*lead, 5, 7).mul(200).to(dtype), torch.randn(*lead, 7, 3).mul(200).to(dtype)
    return [torch.randn(*lead, 5, 3), a, b] if adds else [a, b]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_half_precision_are_added_up_in_single(name: str, dtype: torch.dtype) -> None:
    tensors = _tensors(name, dtype)
    product = getattr(torch, name)
    want = product(*(each.float() for each in tensors))
    device = [each.cuda() for each in tensors]
    got = product(*device, out_dtype=torch.float32)
    assert got.is_cuda and got.dtype == torch.float32
    torch.testing.assert_close(got.cpu(), want, rtol=1e-5, atol=1e-3)
    assert want.abs().max() > torch.finfo(torch.float16).max
    out = torch.empty_like(got)
    assert product(*device, out_dtype=torch.float32, out=out) is out
    assert torch.equal(out, got)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_the_dtype_of_the_matrices_is_allowed(dtype: torch.dtype) -> None:
    a, b = (each.cuda() for each in _tensors("mm", dtype))
    assert torch.equal(torch.mm(a, b, out_dtype=dtype), torch.mm(a, b))


def test_factors_are_applied() -> None:
    added, a, b = (each.cuda() for each in _tensors("addmm", torch.float16))
    got = torch.addmm(added, a, b, out_dtype=torch.float32, beta=2, alpha=0.5)
    torch.testing.assert_close(got, 2 * added + 0.5 * torch.mm(a.float(), b.float()), rtol=1e-5, atol=1e-3)


def test_another_dtype_is_refused_in_pytorchs_words() -> None:
    half, single = torch.ones(2, 2, device="cuda", dtype=torch.float16), torch.ones(2, 2, device="cuda")
    with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype or fp32"):
        torch.mm(half, half, out_dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match="out_dtype must be the same as input dtype or fp32"):
        torch.bmm(single[None], single[None], out_dtype=torch.float16)
    with pytest.raises(RuntimeError, match="self dtype must match either out_dtype or mat1 dtype"):
        torch.addmm(single.double(), half, half, out_dtype=torch.float32)
    with pytest.raises(RuntimeError, match="provided out tensor"):
        torch.mm(half, half, out_dtype=torch.float32, out=torch.empty_like(half))


def test_inference_mode_and_captures() -> None:
    a, b = (each.cuda() for each in _tensors("mm", torch.float16))
    want = torch.mm(a.float(), b.float())
    with torch.inference_mode():
        assert torch.equal(torch.mm(a, b, out_dtype=torch.float32), want)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = torch.mm(a, b, out_dtype=torch.float32)
    a.mul_(0.5)
    graph.replay()
    assert torch.equal(captured, torch.mm(a.float(), b.float()))


def test_compiled_code_has_the_same_numbers() -> None:
    a, b = (each.cuda() for each in _tensors("mm", torch.float16))
    compiled = torch.compile(lambda x, y: torch.mm(x, y, out_dtype=torch.float32) + 1, backend="aot_eager")
    assert torch.equal(compiled(a, b), torch.mm(a.float(), b.float()) + 1)


def test_other_devices_are_left_alone() -> None:
    with pytest.raises(NotImplementedError, match="CPU"):
        torch.mm(torch.ones(2, 2).half(), torch.ones(2, 2).half(), out_dtype=torch.float32)


PROGRAM = """
import json, sys
import torch
from torchada.control import status

calls = []
wrong = sys.argv[1] == "wrong"

def vendors(a, b, out_dtype):
    calls.append(a.shape)
    if sys.argv[1] == "short of memory":
        raise torch.OutOfMemoryError("MUSA out of memory")
    return torch.zeros(a.shape[0], b.shape[1], dtype=out_dtype, device=a.device) if wrong else a.to(out_dtype) @ b.to(out_dtype)

library = torch.library.Library("aten", "IMPL")
library.impl("mm.dtype", vendors, "PrivateUse1")

def state():
    return [each["for"] for each in status.workarounds() if each["for"].startswith("torch.mm(..., out_dtype=):")][0]

before = state()
a = torch.full((2, 2), 3.0, dtype=torch.float16, device="cuda")
values = [torch.mm(a, a, out_dtype=torch.float32).cpu().tolist() for _ in range(2)]
print(json.dumps({"before": before, "after": state(), "values": values, "calls": len(calls)}))
"""


@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize("kind", ["right", "wrong"])
def test_the_adapters_kernel_is_probed_once(musa: Interpreter, tmp_path: Path, kind: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    first = musa.json([str(program), kind], env=env)
    second = musa.json([str(program), kind], env=env)
    assert first["before"].endswith("is probed at the first call")
    assert first["values"] == second["values"] == [[[18.0, 18.0], [18.0, 18.0]]] * 2
    if kind == "right":
        assert first["calls"] == 4 and second["calls"] == 2  # two products of the probe, and the program's
        assert second["before"].endswith("is right, and used")
    else:
        assert first["calls"] == 1 and second["calls"] == 0
        assert second["before"].endswith("is missing or wrong, and replaced")


@pytest.mark.full
@pytest.mark.once
def test_a_probe_without_memory_is_made_again_by_the_next_process(musa: Interpreter, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    first = musa.json([str(program), "short of memory"], env=env)
    second = musa.json([str(program), "right"], env=env)
    assert first["values"] == second["values"] and first["calls"] == 1
    assert first["after"].endswith("is missing or wrong, and replaced") and second["after"].endswith(
        "is right, and used"
    )


@pytest.mark.once
def test_undone_exactly(musa: Interpreter) -> None:
    musa.run(
        """
        import torch, torchada
        a = torch.ones(2, 2, dtype=torch.float16, device="cuda")
        torchada.disable()
        try:
            torch.mm(a, a, out_dtype=torch.float32)
        except NotImplementedError:
            pass
        else:
            raise AssertionError("the kernel is still there")
        """,
        forked=True,
        env={"MUSASIM_RELEASE": "2.7.1"},  # later ones have the kernel themselves
    )
