"""Flash attention of Moore Threads' package mate, `flash_attn_interface`, for code that was written for other builds of it.

SGLang imports it as sgl_kernel.flash_attn and passes an argument that mate's functions do not know. Ring attention calls
`_flash_attn_forward`, which mate does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from types import FunctionType, ModuleType
from typing import Any

from torchada.base.warnings import warn_once
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import imported

Function = Callable[..., Any]

# What a version without the argument computes is what the caller gets; other arguments change the result, so they are refused.
_DROPPED = ("only_qv",)
_FORWARD = "_flash_attn_forward"


def interface(context: Context) -> Iterator[Patch]:
    """The functions of flash_attn_interface."""
    import flash_attn_interface as own  # type: ignore[import-not-found]

    for name, function in list(vars(own).items()):
        if name.startswith("flash_attn") and isinstance(function, FunctionType):
            missing = [argument for argument in _DROPPED if not _takes(function, argument)]
            if missing:
                note = f"flash_attn_interface.{name} without {', '.join(missing)}"
                yield Patch(own, name, _without(function, missing), None, note=note)
    public = getattr(own, "flash_attn_func", None)
    if not hasattr(own, _FORWARD) and public is not None and _takes(public, "return_softmax_lse"):
        note = f"flash_attn_interface.{_FORWARD}, for ring attention"
        yield Patch(
            own, _FORWARD, _forward(public), None, "emulated", "flash_attn_interface.flash_attn_func", note=note
        )


def sgl_kernel(context: Context) -> Iterator[Patch]:
    """sgl_kernel.flash_attn: the package's own calls operators that exist on CUDA alone."""
    import sgl_kernel as package  # type: ignore[import-not-found]

    try:
        import flash_attn_interface
    except ImportError as missing:
        raise Skip(f"flash_attn_interface cannot be imported: {missing}") from missing
    answer: ModuleType = flash_attn_interface
    for owner, name in ((imported(), "sgl_kernel.flash_attn"), (package, "flash_attn")):
        yield Patch(owner, name, answer, "sgl_kernel.flash_attn", to="flash_attn_interface")


def _takes(function: Function, argument: str) -> bool:
    parameters = signature(function).parameters
    return argument in parameters or any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())


def _without(function: Function, arguments: list[str]) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in arguments:
            if kwargs.pop(name, None):
                warn_once(
                    f"flash_attn_interface.{function.__name__} does not know the argument {name}, which is left out"
                )
        return function(*args, **kwargs)

    return disguise(call, function)


def _forward(public: Function) -> Function:
    def _flash_attn_forward(
        q: Any,
        k: Any,
        v: Any,
        *,
        softmax_scale: float | None = None,
        causal: bool = False,
        window_size_left: int = -1,
        window_size_right: int = -1,
        softcap: float = 0.0,
    ) -> tuple[Any, Any, None, None]:
        """The output and the log-sum-exp of each row; the state of dropout, which comes after them on CUDA, is None."""
        window = (window_size_left, window_size_right)
        result = public(
            q,
            k,
            v,
            softmax_scale=softmax_scale,
            causal=causal,
            window_size=window,
            softcap=softcap,
            return_softmax_lse=True,
        )
        if not isinstance(result, (tuple, list)) or len(result) < 2:
            raise RuntimeError(
                "flash_attn_func(return_softmax_lse=True) is expected to return the output and the log-sum-exp"
            )
        return result[0], result[1], None, None

    return _flash_attn_forward
