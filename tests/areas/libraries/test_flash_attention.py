"""flash_attn_interface, by a stand-in for the package that needs Moore Threads' GPUs: what SGLang and ring attention call."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

INTERFACE = '''
import torch

def flash_attn_func(q, k, v, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, return_softmax_lse=False):
    """Tensors of (batch, length, heads, size)."""
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * (softmax_scale or q.shape[-1] ** -0.5)
    if causal:
        length = scores.shape[-1]
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1), -torch.inf)
    out = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)
    return (out, scores.logsumexp(-1)) if return_softmax_lse else out

def flash_attn_with_kvcache(q, k_cache, v_cache, **options):
    return sorted(options)
'''
START = """
import torch
torch.manual_seed(0)
q, k, v = (torch.randn(2, 5, 3, 4, device="cuda") for _ in range(3))
"""


@pytest.fixture
def packages(musa: Interpreter, tmp_path: Path) -> Interpreter:
    (tmp_path / "flash_attn_interface.py").write_text(INTERFACE)
    (tmp_path / "sgl_kernel").mkdir()
    (tmp_path / "sgl_kernel" / "__init__.py").write_text("")
    (tmp_path / "sgl_kernel" / "flash_attn.py").write_text("raise RuntimeError('operators of CUDA')")
    return Interpreter(env={**musa.env, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path)


def test_sgl_kernels_flash_attention_is_the_interface(packages: Interpreter) -> None:
    code = """
import warnings
from sgl_kernel.flash_attn import flash_attn_func, flash_attn_with_kvcache
import flash_attn_interface, sgl_kernel, torchada
assert sgl_kernel.flash_attn is flash_attn_interface and flash_attn_func is flash_attn_interface.flash_attn_func
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    expected = flash_attn_func(q, k, v, causal=True, only_qv=False)
    assert not said
    for _ in range(2):
        torch.testing.assert_close(flash_attn_func(q, k, v, causal=True, only_qv=True), expected)
assert len(said) == 1 and "does not know the argument only_qv" in str(said[0].message), said
assert flash_attn_with_kvcache(q, k, v, only_qv=True) == ["only_qv"]  # it may know it
try:
    flash_attn_func(q, k, v, unheard_of=1)
except TypeError:
    pass
else:
    raise AssertionError
torchada.disable()
assert not hasattr(sgl_kernel, "flash_attn")
try:
    import sgl_kernel.flash_attn
except RuntimeError as error:
    assert "operators of CUDA" in str(error)
else:
    raise AssertionError
"""
    packages.run(START + code, env={"TORCHADA_STRICT": "0"})


def test_ring_attention_gets_the_forward_with_its_sums(packages: Interpreter) -> None:
    code = """
from flash_attn_interface import _flash_attn_forward
first, first_sum, *rest = _flash_attn_forward(q, k[:, :2], v[:, :2], softmax_scale=0.3)
second, second_sum, *_ = _flash_attn_forward(q, k[:, 2:], v[:, 2:], softmax_scale=0.3)
assert rest == [None, None]
weight = torch.sigmoid(second_sum - first_sum).transpose(1, 2).unsqueeze(-1)
whole, *_ = _flash_attn_forward(q, k, v, softmax_scale=0.3)
torch.testing.assert_close(first * (1 - weight) + second * weight, whole)
"""
    packages.run(START + code)


def test_without_the_interface_sgl_kernel_is_left_alone(packages: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "flash_attn_interface.py").unlink()
    code = """
import sgl_kernel
try:
    import sgl_kernel.flash_attn
except RuntimeError:
    pass
else:
    raise AssertionError
"""
    packages.run(START + code)
