"""Kernels of the toy: the CPU's, on the same memory.

One function answers for every operator that has no kernel of its own: the dispatcher calls it as the fallback of PrivateUse1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import DispatchKey
from torch.utils._pytree import tree_leaves, tree_map

from torch_toy import memory, namespace

_library = torch.library.Library("aten", "IMPL")
_fallback = torch.library.Library("_", "IMPL")


def install() -> None:
    """Register the kernels with the dispatcher."""
    _fallback.fallback(_run_on_the_cpu, "PrivateUse1")
    for name in _ANY_DEVICE:
        _library.impl(name, _by_the_cpus_kernel(name), "PrivateUse1")
    for name, kernel in _OWN.items():
        _library.impl(name, kernel, "PrivateUse1")
    for key in ("Conjugate", "Negative"):
        _library.impl("_copy_from", torch.library.fallthrough_kernel, key)
    _fallback.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for name in _IN_LOWER_PRECISION:
        _library.impl(name, _autocast(name), "AutocastPrivateUse1")


def _operator(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _run_on_the_cpu(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """The CPU's kernel over the tensors' memory. What it returns is an argument again where the schema says so, or is new."""
    schema = operator._schema
    _check_devices(operator, args, kwargs)
    lent = {name: _lent_tree(value) for name, value in kwargs.items()}
    if "device" in kwargs:
        lent["device"] = torch.device("cpu")
    if any(each.name == "generator" for each in schema.arguments) and kwargs.get("generator") is None:
        lent["generator"] = namespace.generator()
    # A kernel gives `out` the shape it needs, which memory that came by DLPack does not allow.
    outs = [each.name for each in schema.arguments if each.is_out and each.name in kwargs]
    lent.update({name: torch.empty(0, dtype=kwargs[name].dtype) for name in outs})
    result = operator(*_lent_tree(args), **lent)
    for name in outs:
        kwargs[name].resize_(lent[name].shape).copy_(lent[name])
    written = _written(schema, args, kwargs)
    if written:
        return written[0] if len(written) == 1 else tuple(written)
    return tree_map(lambda each: memory.on_toy(each) if isinstance(each, torch.Tensor) else each, result)


def _lent_tree(values: Any) -> Any:
    return tree_map(_lent, values)


def _lent(value: Any) -> Any:
    return memory.on_cpu(value) if isinstance(value, torch.Tensor) and value.is_toy else value


def _check_devices(operator: Any, args: Any, kwargs: Any) -> None:
    """As on a GPU, tensors of two devices are refused, but for numbers of the CPU, and so is a device that there is not."""
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    if "device" not in kwargs and len({each.device for each in tensors if each.is_toy or each.dim() > 0}) > 1:
        raise RuntimeError(f"{operator}: expected all tensors to be on the same device, but found at least two")
    wanted = kwargs.get("device")
    if wanted is not None and wanted.type == "toy" and (wanted.index or 0) >= namespace.device_count():
        raise RuntimeError(f"invalid device ordinal {wanted}: there are {namespace.device_count()} devices")


def _written(schema: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The arguments that the operator returns, having written to them: `self` of add_, `out` of add.out."""
    if not schema.returns or any(each.alias_info is None or not each.alias_info.is_write for each in schema.returns):
        return []
    given = dict(zip((each.name for each in schema.arguments), args))
    given.update(kwargs)
    return [given[each.name] for each in schema.arguments if each.alias_info is not None and each.alias_info.is_write]


# Kernels of the CPU that look at no memory: they make a view, or give a tensor another storage.
_ANY_DEVICE = (
    "as_strided",
    "view",
    "_reshape_alias",
    "unfold",
    "view_as_real",
    "view_as_complex",
    "set_.source_Tensor",
    "set_.source_Storage",
    "set_.source_Storage_storage_offset",
)


def _by_the_cpus_kernel(name: str) -> Any:
    operator = _operator(name)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return operator._op_dk(DispatchKey.CPU, *args, **kwargs)

    return kernel


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """Every copy to the toy, from it, and between its devices."""
    _lent(target).copy_(_lent(source))
    return target


def _resize(tensor: torch.Tensor, size: Any, memory_format: Any = None) -> torch.Tensor:
    """A larger storage is a new one: memory that came by DLPack cannot grow."""
    if tensor.shape == torch.Size(size):
        return tensor
    model = torch.empty(size, dtype=tensor.dtype, device=tensor.device, memory_format=memory_format)
    storage, offset = tensor.untyped_storage(), tensor.storage_offset()
    if offset * tensor.itemsize + model.nbytes > storage.nbytes():
        larger = torch.empty(offset * tensor.itemsize + model.nbytes, dtype=torch.uint8, device=tensor.device)
        _lent(larger)[: storage.nbytes()].copy_(_lent(_bytes(tensor)))
        storage = larger.untyped_storage()
    return tensor.set_(storage, offset, size, model.stride())


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _convolution(*args: Any) -> Any:
    """What PyTorch calls for devices that it does not know, where the CPU has kernels of other names."""
    return _run_on_the_cpu(torch.ops.aten.convolution.default, *args)


def _convolution_backward(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, *args: Any) -> Any:
    bias = [grad.size(1)]
    return _run_on_the_cpu(torch.ops.aten.convolution_backward.default, grad, x, weight, bias, *args)


_OWN = {
    "_copy_from": _copy_from,
    "resize_": _resize,
    "convolution_overrideable": _convolution,
    "convolution_backward_overrideable": _convolution_backward,
}

# Under autocast.
_IN_LOWER_PRECISION = ("mm", "bmm", "addmm", "baddbmm", "convolution")


def _autocast(name: str) -> Any:
    operator, off = _operator(name), torch._C.DispatchKeySet(DispatchKey.AutocastPrivateUse1)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        dtype = torch.get_autocast_dtype("toy")
        with torch._C._ExcludeDispatchKeyGuard(off):
            return operator(*tree_map(lambda each: _cast(each, dtype), args), **kwargs)

    return kernel


def _cast(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.dtype is torch.float32 else value
