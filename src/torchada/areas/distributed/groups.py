"""What torch.distributed derives from the name of CUDA for groups: the size of subgroups, the devices of a split."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from types import ModuleType
from typing import TYPE_CHECKING, Any, Concatenate

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.entry_point import EntryPoint

if TYPE_CHECKING:
    from torch import Tensor

    from torchada.redirect.types import P, R


#: What torch says of a backend that cannot, after it has checked the parent and before it looks at the parts.
_CANNOT_SPLIT = "does not support splitting"


def patches(context: Context) -> Iterator[Patch]:
    distributed = context.torch.distributed
    if not distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    c10d, native = distributed.distributed_c10d, context.torch._C._distributed_c10d
    subgroups = _new_subgroups(context, c10d.new_subgroups)
    for module in (distributed, c10d):
        yield Patch(module, "new_subgroups", subgroups, "torch.distributed.new_subgroups")
    if hasattr(c10d, "_parse_backend_string"):
        parse = _parse_backend_string(context, c10d._parse_backend_string)
        yield Patch(c10d, "_parse_backend_string", parse, 'torch.distributed.split_group(backend="nccl")')
        if "available_devices" in inspect.signature(c10d._parse_backend_string).parameters:
            yield _configured(context, c10d.BackendConfig)
    if hasattr(distributed, "split_group"):
        split = EntryPoint(c10d.split_group, _split_group(context, c10d.split_group))
        api, to = "torch.distributed.split_group", "new groups, where the backend cannot split its own"
        for owner in (distributed, c10d, distributed.device_mesh):
            if "split_group" in vars(owner):
                yield Patch(owner, "split_group", split, api, kind="emulated", to=to)
    # torch has this function if it was built with NCCL, and uses CUDA in it.
    hashes, note = _hash_tensors(context.torch), "the hashes of TORCH_DISTRIBUTED_DEBUG=DETAIL"
    yield Patch(native, "_hash_tensors", hashes, None, "emulated", "a hash of the tensor on the CPU", note=note)


def _split_group(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """DeviceMesh splits whenever the default group was made with a device (`init_process_group(device_id=)`)."""

    @cache
    def parts() -> Any:
        from torchada.areas.distributed._splits import Parts  # few programs split groups

        return Parts(context, context.torch.distributed.distributed_c10d)

    def split_group(*args: object, **kwargs: object) -> Any:
        try:
            return original(*args, **kwargs)
        except RuntimeError as refusal:
            given = inspect.signature(original).bind(*args, **kwargs).arguments
            parent = given.get("parent_pg") or context.torch.distributed.group.WORLD
            if _CANNOT_SPLIT not in str(refusal) or not parts().can_stand_in_for(parent):
                raise
        return parts().make(parent, given)

    return split_group


def _new_subgroups(context: Context, original: Callable[..., R]) -> EntryPoint:
    """As many processes as devices; torch would consult torch.cuda.is_available(), which stays False."""
    namespace = context.namespace

    def new_subgroups(*args: object, **kwargs: object) -> R:
        if not args and kwargs.get("group_size") is None and namespace.is_available():
            kwargs["group_size"] = namespace.device_count()
        elif args and args[0] is None and namespace.is_available():
            args = (namespace.device_count(), *args[1:])
        return original(*args, **kwargs)

    return EntryPoint(original, new_subgroups)


def _parse_backend_string(
    context: Context, original: Callable[Concatenate[str, P], dict[str, str]]
) -> Callable[Concatenate[str, P], dict[str, str]]:
    """Each device once, by the backend's name for it, so that the devices of "nccl" and "cpu:gloo,cuda:nccl" can be compared."""
    translate, backend = context.devices.translate, context.backend

    def parse(text: str, *args: P.args, **kwargs: P.kwargs) -> dict[str, str]:
        if text.lower() in backend.collectives.names.values():
            return {backend.device_type: text.lower()}  # torch would look for a device whose default backend it is
        return {translate(device): name for device, name in original(text, *args, **kwargs).items()}

    return disguise(parse, original)


def _configured(context: Context, config: Any) -> Patch:
    """torch 2.15 compares the devices of a configuration with those of the group."""
    translate, original = context.devices.translate, config.get_device_backend_map

    def get_device_backend_map(self: Any) -> dict[str, str]:
        return {translate(device): name for device, name in original(self).items()}

    call = disguise(get_device_backend_map, original)
    return Patch(config, "get_device_backend_map", call, None, note='torch.distributed.split_group(backend="nccl")')


def _hash_tensors(torch: ModuleType) -> Callable[[Iterable[Tensor]], int]:
    def _hash_tensors(tensors: Iterable[Tensor]) -> int:
        digest = blake2b(digest_size=8)
        for tensor in tensors:
            data: Any = tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy()
            digest.update(data)  # a buffer, which mypy does not see in an array of NumPy
        return int.from_bytes(digest.digest(), "little")

    return _hash_tensors
