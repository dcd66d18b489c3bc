"""Whether the device's answer is the CPU's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from torch_battery.check import EXACT, TOLERANCES, Tolerance, Wrong, expect


def tolerance_of(dtype: torch.dtype) -> Tolerance:
    """The tolerance for results of this type: EXACT for integers and bools."""
    return TOLERANCES.get(name_of(dtype), EXACT)


def name_of(dtype: torch.dtype) -> str:
    """The type's name without its module: `float32`."""
    return str(dtype).removeprefix("torch.")


def leaves(value: Any) -> Iterator[Any]:
    """The tensors and numbers within tuples, lists and dictionaries, in order."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        yield value
        return
    for item in value:
        yield from leaves(item)


def same(actual: Any, expected: Any, tolerance: Tolerance | None = None, what: str = "the result") -> float:
    """The largest error as a share of what is allowed; raises Wrong where it is more than 1.

    `actual` and `expected` are tensors, numbers, or tuples, lists and dictionaries of them. Without a `tolerance`, each tensor has
    that of its own type.
    """
    pairs = list(zip(leaves(actual), leaves(expected)))
    count = len(list(leaves(expected)))
    expect(len(list(leaves(actual))) == count, f"{what} has not {count} parts")
    names = [what] if count == 1 else [f"part {number} of {what}" for number in range(count)]
    return max((_same(*pair, tolerance, name) for pair, name in zip(pairs, names)), default=0.0)


def on_device(value: Any, what: str = "the result") -> None:
    """Raise Wrong if a tensor in `value` is not on a CUDA device."""
    for leaf in leaves(value):
        if isinstance(leaf, torch.Tensor):
            expect(leaf.is_cuda, f"{what} is on {leaf.device} and not on the device")


def _same(actual: Any, expected: Any, tolerance: Tolerance | None, what: str) -> float:
    if not isinstance(expected, torch.Tensor):
        return _same(torch.as_tensor(actual), torch.as_tensor(expected), tolerance, what)
    expect(actual.shape == expected.shape, f"{what} has the shape {tuple(actual.shape)}, not {tuple(expected.shape)}")
    allowed = tolerance_of(actual.dtype) if tolerance is None else tolerance
    return _largest(_wide(actual), _wide(expected), allowed, what)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """The values on the CPU, as doubles or as long integers."""
    tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    tensor = tensor.to("cpu").resolve_conj()
    if tensor.is_complex():
        return torch.view_as_real(tensor).double()
    return tensor.double() if tensor.is_floating_point() else tensor.long()


def _largest(actual: torch.Tensor, expected: torch.Tensor, allowed: Tolerance, what: str) -> float:
    if not expected.numel():
        return 0.0
    if not (actual.is_floating_point() or expected.is_floating_point()) or allowed == EXACT:
        differs = (actual != expected) & ~((actual != actual) & (expected != expected))
        if bool(differs.any()):
            _raise(actual, expected, differs, "exactly", what)
        return 0.0
    share = _share(actual.double(), expected.double(), allowed)
    largest = float(share.max())
    if largest > 1:
        text = f"within {allowed.absolute:.1e} + {allowed.relative:.1e} of the value"
        _raise(actual, expected, share == share.max(), text, what, int((share > 1).sum()))
    return largest


def _share(actual: torch.Tensor, expected: torch.Tensor, allowed: Tolerance) -> torch.Tensor:
    """Each element's error as a share of what is allowed; two NaNs are the same, and so are two infinities of one sign."""
    error = (actual - expected).abs()
    same_special = (actual == expected) | (actual.isnan() & expected.isnan())
    share = (error / (allowed.absolute + allowed.relative * expected.abs())).nan_to_num(nan=float("inf"))
    return share.masked_fill(same_special, 0.0)


def _raise(
    actual: torch.Tensor, expected: torch.Tensor, where: torch.Tensor, text: str, what: str, count: int = 0
) -> None:
    """`where` marks the elements to be shown, of which there is at least one; `count` are wrong, or else all those marked."""
    place = tuple(torch.nonzero(where)[0].tolist())
    number = count or int(where.sum())
    element = f" at {list(place)}" if place else ""
    raise Wrong(
        f"{what} is {actual[place].item():.9g}{element} where the CPU has {expected[place].item():.9g}; "
        f"{number} of {expected.numel()} not equal {text}"
    )
