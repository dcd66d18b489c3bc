"""The backend's C functions and classes, found by the names of CUDA's."""

from __future__ import annotations

from torchada.redirect.context import Context


def native_names(context: Context) -> dict[str, tuple[str, object]]:
    """By CUDA's name ("_cuda_getDevice"), the backend's name and the object; only names in which the backend's own name occurs."""
    native = native_module(context)
    names = [name for name in vars(native) if not name.startswith("__")] if native is not None else []
    as_cuda = {name: _spelled_as_cuda(context, name) for name in names}
    return {cuda: (name, getattr(native, name)) for name, cuda in as_cuda.items() if cuda != name}


def native_module(context: Context) -> object:
    """The module or class that has the backend's C functions; None if it shows none."""
    native: object = context.namespace
    for part in context.backend.native.module.split("."):
        native = getattr(native, part, None)
    return native


def _spelled_as_cuda(context: Context, name: str) -> str:
    for own, cuda in context.backend.native.spellings.items():
        name = name.replace(own, cuda)
    return name
