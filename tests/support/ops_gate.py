"""Runs one entry of PyTorch's operator database on the CPU and on the simulated device, and compares everything."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Callable

# Enough to reach every branch of a kernel's argument handling; a few operators have thousands of samples.
SAMPLES = 40


class Mismatch(AssertionError):
    """The message says what differed, and for which sample."""


# PyTorch wants the indices on the host, whatever the device of the tensor, and the entry makes them there.
HOST_INDICES = {"tensor_split"}


class NoReference(Exception):
    """The CPU refuses the sample, so there is nothing to compare with."""


def forward(op: Any, dtype: torch.dtype = torch.float32, samples: int = SAMPLES) -> None:
    check_all(op, dtype, samples)


def backward(op: Any, dtype: torch.dtype = torch.float32, samples: int = SAMPLES) -> None:
    check_all(op, dtype, samples, gradients=True)


def check_all(op: Any, dtype: torch.dtype, samples: int, gradients: bool = False, device: str = "musa") -> int:
    """Compare so many samples; how many of them the CPU computes in this type."""
    chosen = sampled(op, samples, requires_grad=gradients, dtype=dtype)
    return sum(check(op, sample, number, gradients, device) for number, sample in chosen)


def check(op: Any, sample: Any, number: int, gradients: bool, device: str) -> bool:
    """Whether the CPU has a kernel of the sample's type, whose result the device's is then like."""
    call, what = (_gradients, f"gradients of sample {number}") if gradients else (_call, f"sample {number}")
    try:
        expected = call(op, _on("cpu", sample))
    except NotImplementedError as error:
        if "_cpu\" not implemented for '" in str(error):
            return False
        raise NoReference(str(error)) from error
    except Exception as error:
        raise NoReference(str(error)) from error
    tolerance = LOOSER.get(op.name, 1.0) if _repeatable(op, expected, call, sample) else None
    there = _on(device, sample)
    if op.name in HOST_INDICES:
        there = (there[0], *sample[1:])
    actual = call(op, there)
    try:
        _compare(expected, actual, what, tolerance, device=device)
    except Mismatch:
        if tolerance is None or not _is_as_near(op, sample, gradients, expected, actual):
            raise
    return True


# Of them the CPU computes some results in halves, where CUDA computes in float32 and rounds once.
HALVES = (torch.float16, torch.bfloat16)


def _is_as_near(op: Any, sample: Any, gradients: bool, expected: Any, actual: Any) -> bool:
    """Whether results in halves are as near as the CPU's own, or as rounding, to what the CPU computes in float32."""
    halves = [(one, other) for one, other in zip(tree_leaves(expected), tree_leaves(actual)) if _are_halves(one, other)]
    if not halves or len(halves) != len(tree_leaves(expected)):
        return False
    call = partial(_gradients, rounding=halves[0][0].dtype) if gradients else _call
    exact = tree_leaves(call(op, tree_map(_in_single_precision, sample)))
    return all(
        _error(one, true) <= max(_error(other, true), _rounding(one.dtype, true))
        for (other, one), true in zip(halves, exact)
    )


def _are_halves(expected: object, actual: object) -> bool:
    """Whether they differ by their numbers alone."""
    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        return False
    if expected.dtype not in HALVES or expected.layout is not torch.strided or actual.layout is not torch.strided:
        return False
    return (actual.dtype, actual.shape, actual.stride()) == (expected.dtype, expected.shape, expected.stride())


def _in_single_precision(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.dtype not in HALVES:
        return leaf
    return leaf.detach().float().requires_grad_(leaf.requires_grad)


def _rounding(dtype: torch.dtype, exact: torch.Tensor) -> torch.Tensor:
    finite = torch.where(exact.isfinite(), exact, 0).abs()
    return finite.max() * torch.finfo(dtype).eps if finite.numel() else finite.sum()


def _error(actual: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """The greatest; NaN, which is more than nothing, where one of them alone is no number."""
    difference = actual.cpu().double() - exact.double()
    same = torch.isnan(actual.cpu()) & torch.isnan(exact) | (actual.cpu() == exact)
    return difference.abs().masked_fill(same, 0).max() if exact.numel() else difference.new_zeros(())


def has_backward(op: Any, dtype: torch.dtype = torch.float32) -> bool:
    return bool(op.supports_autograd) and dtype in op.supported_backward_dtypes("cpu")


# Uninitialised memory, and random choices among so few values that two calls may agree.
NO_VALUES = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "multinomial", "bernoulli",
    "randint", "randint_like",
}  # fmt: skip
# How many times as far from the CPU's a result may be.
LOOSER = {
    "svd_lowrank": 20.0,  # by a random projection, whose luck decides how much of the result is rounding
    "linalg.householder_product": 10.0,  # in complex64 both are up to 5e-5 from what complex128 gives
}


def _repeatable(op: Any, expected: Any, call: Callable[[Any, Any], Any], sample: Any) -> bool:
    """Whether values can be compared: random ones differ by design, because the device has a generator of its own."""
    if op.name in NO_VALUES:
        return False
    manual_seed = torch.manual_seed
    # Many entries of the database set a seed before each call.
    with mock.patch("torch.manual_seed", lambda seed: manual_seed(seed + 1)):
        again = call(op, _on("cpu", sample))
    try:
        _compare(expected, again, "again", 1.0, device="cpu")
    except Mismatch:
        return False
    return True


def sampled(op: Any, number: int, *, requires_grad: bool, dtype: torch.dtype) -> Any:
    torch.manual_seed(0)
    found = op.sample_inputs("cpu", dtype, requires_grad=requires_grad)
    chosen = itertools.islice(found, number)
    device = {"device": "cpu"} if op.is_factory_function else {}  # some samples leave it out
    return enumerate((s.input, s.args, {**device, **s.kwargs}, s.output_process_fn_grad) for s in chosen)


def _call(op: Any, sample: Any) -> Any:
    first, args, kwargs, _ = sample
    return op(first, *args, **kwargs)


def _on(device: str, value: Any) -> Any:
    """Copy `value` to the device, because some operators write to their input."""
    return tree_map(lambda leaf: _leaf_on(device, leaf), value)


def _leaf_on(device: str, leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return _tensor_on(device, leaf)
    if isinstance(leaf, torch.device) or leaf == "cpu":
        return torch.device(device)
    return leaf


def _tensor_on(device: str, tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor with its strides, which `to` keeps for dense tensors only."""
    plain = tensor.detach()
    if plain.layout is not torch.strided or plain.is_quantized:
        return plain.to(device, copy=True).requires_grad_(tensor.requires_grad)
    made = torch.empty(plain.untyped_storage().nbytes() // plain.element_size(), dtype=plain.dtype, device=device)
    made = made.as_strided(plain.shape, plain.stride(), plain.storage_offset())
    made.untyped_storage().copy_(plain.untyped_storage())
    if plain.is_conj():
        made = made.conj()
    if plain.is_neg():
        made = torch._neg_view(made)
    return made.requires_grad_(tensor.requires_grad)


def _gradients(op: Any, sample: Any, rounding: torch.dtype | None = None) -> Any:
    inputs = [t for t in tree_leaves(sample[:3]) if isinstance(t, torch.Tensor) and t.requires_grad]
    result = sample[3](_call(op, sample))
    outputs = [_dense(t) for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not inputs or not outputs:
        return []
    return torch.autograd.grad(outputs, inputs, [_weights(t, rounding) for t in outputs], allow_unused=True)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def _weights(output: torch.Tensor, rounding: torch.dtype | None = None) -> torch.Tensor:
    """Uneven weights, so that a transposed or shifted gradient is noticed; those that another type has after `rounding`."""
    ramp = torch.linspace(0.5, 1.5, output.numel()).reshape(output.shape)
    return ramp.to(rounding or output.dtype).to(output.dtype).to(output.device)


def _compare(expected: Any, actual: Any, what: str, tolerance: float | None, *, device: str) -> None:
    """With values where there is a tolerance, which is a factor."""
    wanted, got = tree_leaves(expected), tree_leaves(actual)
    if len(wanted) != len(got):
        raise Mismatch(f"{what}: {len(got)} results instead of {len(wanted)}")
    for number, (one, other) in enumerate(zip(wanted, got)):
        if isinstance(one, torch.Tensor):
            _compare_tensors(one, other, f"{what}, result {number}", tolerance, device)
        elif type(one) is not type(other) or (tolerance and not isinstance(one, torch.device) and one != other):
            raise Mismatch(f"{what}, result {number}: {other!r} instead of {one!r}")


def _compare_tensors(
    expected: torch.Tensor, actual: torch.Tensor, what: str, tolerance: float | None, device: str
) -> None:
    if actual.device != torch.empty(0, device=device).device:
        raise Mismatch(f"{what}: on {actual.device}")
    if actual.dtype != expected.dtype or actual.layout != expected.layout or actual.shape != expected.shape:
        raise Mismatch(f"{what}: {actual.dtype} {actual.layout} {actual.shape}, not {expected.dtype} {expected.shape}")
    if expected.layout is torch.strided and actual.stride() != expected.stride():
        raise Mismatch(f"{what}: strides {actual.stride()} instead of {expected.stride()}")
    if tolerance:
        _compare_values(expected, actual, what, tolerance)


def _compare_values(expected: torch.Tensor, actual: torch.Tensor, what: str, tolerance: float) -> None:
    # Much faster, and mostly so; of complex halves there is no such kernel.
    if actual.layout is torch.strided and actual.dtype != torch.complex32 and torch.equal(actual.cpu(), expected):
        return
    try:
        torch.testing.assert_close(
            actual.cpu(), expected.detach(), rtol=1e-5 * tolerance, atol=1e-6 * tolerance, equal_nan=True
        )
    except AssertionError as error:
        raise Mismatch(f"{what}: {error}") from error
