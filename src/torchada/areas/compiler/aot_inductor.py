"""AOTInductor: CUDA's class for a compiled library, and what a package says of its device.

A package names the device that its library was compiled for, because PyTorch's loader chooses by that name what runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torchada.redirect.by_view import by_view
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torchada.redirect.types import P

Metadata = dict[str, str]

_CLASS = "AOTIModelContainerRunner"
_DEVICE = "AOTI_DEVICE_KEY"


def runner(context: Context) -> Iterator[Patch]:
    """torch._export.aot_load("model.so", "cuda") makes an object of this class, which PyTorch's builds for CUDA have."""
    own = _adapters(context)
    module: Any = context.torch._C._aoti
    backend = context.backend
    to = f"torch.{backend.namespace}.{backend.native.module}._aoti.{own.__name__}"
    yield Patch(module, f"{_CLASS}Cuda", _for_cuda(context, own), f"torch._C._aoti.{_CLASS}Cuda", to=to)


def _adapters(context: Context) -> type[Any]:
    module = getattr(context.namespace, context.backend.native.module or "", None)
    name = f"{_CLASS}{context.backend.device_type.capitalize()}"
    own = getattr(getattr(module, "_aoti", None), name, None)
    if own is None:
        raise Skip(f"{context.backend.adapter} has no class for libraries of AOTInductor")
    return own  # type: ignore[no-any-return]


def _for_cuda(context: Context, own: type[Any]) -> type[Any]:
    translate = context.devices.translate

    class AOTIModelContainerRunnerCuda(own):  # type: ignore[misc]
        """The backend's class, on a device of CUDA's name."""

        def __init__(self, model_so_path: str, num_models: int, device_str: str = "cuda", *more: Any) -> None:
            super().__init__(model_so_path, num_models, translate(device_str), *more)

    return AOTIModelContainerRunnerCuda


def metadata(context: Context) -> Iterator[Patch]:
    """A program that sees CUDA and asks a package for what it was compiled reads CUDA's name there."""
    model: Any = import_module("torch._inductor.package.package").AOTICompiledModel
    loader: Any = context.torch._C._aoti.AOTIModelPackageLoader
    for owner, api in ((model, "AOTICompiledModel"), (loader, "AOTIModelPackageLoader")):
        answer = owner.get_metadata
        cuda = _in_cudas_words(context.backend.device_type, answer)
        yield Patch(owner, "get_metadata", by_view(context.views, cuda, answer), f"{api}.get_metadata")


def _in_cudas_words(device_type: str, answer: Callable[P, Metadata]) -> Callable[P, Metadata]:
    def get_metadata(*args: P.args, **kwargs: P.kwargs) -> Metadata:
        told = answer(*args, **kwargs)
        return {**told, _DEVICE: "cuda"} if told.get(_DEVICE) == device_type else told

    return disguise(get_metadata, answer)
