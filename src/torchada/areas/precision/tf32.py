"""TF32: CUDA has a switch for matrix products and one for convolutions, the backend one for both.

The backend's switch is on while neither of the two refuses TF32: precision that the program asked for is not given up because the
other switch allows TF32. As on CUDA, the one for matrix products refuses it until the program allows it. The backend by itself
starts with TF32, which programs for CUDA do not expect; TORCHADA_VENDOR_PRECISION=1 leaves it so.

Every way to set CUDA's switches ends in torch._C: allow_tf32, set_float32_matmul_precision, fp32_precision, cudnn.flags. torch's
own flags are set as well, because the CPU's kernels read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from typing import Protocol

    from torchada.redirect.types import AnyFunction, R

    class Library(Protocol):
        """The module of the backend's library for neural networks, in torch.backends."""

        allow_tf32: bool


MATMUL, CONVOLUTION = "matmul", "conv"


class Switch:
    """CUDA's two switches over the backend's one."""

    def __init__(
        self, module: Library, unfrozen: Callable[[], AbstractContextManager[None]], refused: frozenset[str]
    ) -> None:
        self._module = module
        self.unfrozen = unfrozen
        self._refused_at_first = refused
        self._refused: set[str] = set()

    def allowed(self, what: str) -> bool:
        """What CUDA's switch for `what` reads. TF32 that is refused by the other switch alone is still allowed by this one."""
        return bool(self._module.allow_tf32) or (bool(self._refused) and what not in self._refused)

    def allow(self, what: str, allowed: bool) -> None:
        """Set CUDA's switch for `what`, as the program asked."""
        (self._refused.discard if allowed else self._refused.add)(what)
        # torch._C's setters also work after torch.backends.disable_global_flags().
        with self.unfrozen():
            self._module.allow_tf32 = not self._refused

    def leave_to_default(self, what: str) -> None:
        """The program no longer says anything about `what`."""
        self.allow(what, what not in self._refused_at_first)

    def follow(self, what: str, allowed: bool) -> None:
        """As `allow`, but a setting that the program repeats does nothing: what was set by the backend's own name stays."""
        if allowed == (what in self._refused):
            self.allow(what, allowed)


class Start:
    """An owner for the engine: while it has an entry, the backend's switch has started as CUDA's switches do."""

    __torchada_owner__ = True

    def __init__(self, module: Library, switch: Switch) -> None:
        self._module, self._switch = module, switch
        self._before: bool | None = None

    def get(self, name: str) -> object:
        return MISSING if self._before is None else self._switch

    def set(self, name: str, value: object) -> None:
        self._before = self._module.allow_tf32
        if self._before:  # otherwise the program has already set it
            self._switch.leave_to_default(MATMUL)

    def delete(self, name: str) -> None:
        if self._before is not None:
            with self._switch.unfrozen():
                self._module.allow_tf32 = self._before
        self._before = None


def patches(context: Context) -> Iterator[Patch]:
    torch, name = context.torch, context.backend.names.dnn
    module = getattr(torch.backends, name or "", None)
    if module is None:
        raise Skip(f"{context.backend.name} has no switch for TF32")
    refused = frozenset() if context.settings.vendor_precision else frozenset({MATMUL})
    switch, native = Switch(module, torch.backends.__allow_nonbracketed_mutation, refused), torch._C
    note = "matrix products in full precision until the program allows TF32"
    yield Patch(Start(module, switch), "start", switch, None, note=note, to=_switch_name(context))
    for entry, make, api in (
        ("_get_cublas_allow_tf32", _get_matmul, "torch.backends.cuda.matmul.allow_tf32"),
        ("_set_cublas_allow_tf32", _set_matmul, "torch.backends.cuda.matmul.allow_tf32"),
        ("_get_float32_matmul_precision", _get_precision, "torch.get_float32_matmul_precision"),
        ("_set_float32_matmul_precision", _set_precision, "torch.set_float32_matmul_precision"),
        ("_set_cudnn_allow_tf32", _set_convolution, "torch.backends.cudnn.allow_tf32"),
    ):
        original = getattr(native, entry)
        yield Patch(native, entry, disguise(make(switch, original), original), api, to=_switch_name(context))
    if hasattr(native, "_set_fp32_precision_setter"):
        original = native._set_fp32_precision_setter
        call = disguise(_set_fp32_precision(switch, native, original), original)
        yield Patch(
            native, original.__name__, call, "torch.backends.cuda.matmul.fp32_precision", to=_switch_name(context)
        )
    yield _cudnn(context, switch)


def _switch_name(context: Context) -> str:
    return f"torch.backends.{context.backend.names.dnn}.allow_tf32"


def _get_matmul(switch: Switch, original: AnyFunction) -> Callable[[], bool]:
    def call() -> bool:
        original()  # raises where the program has mixed older and newer settings
        return switch.allowed(MATMUL)

    return call


def _set_matmul(switch: Switch, original: Callable[[bool], object]) -> Callable[[bool], None]:
    def call(allowed: bool) -> None:
        # dynamo sets the value that it has read, and then requires that torch's own flag, which C++ reads, is unchanged.
        if allowed != switch.allowed(MATMUL):
            original(allowed)
            switch.allow(MATMUL, allowed)

    return call


def _get_precision(switch: Switch, original: Callable[[], str]) -> Callable[[], str]:
    """torch's own answer unless the backend computes otherwise. Setting the value that was read changes nothing."""

    def call() -> str:
        precision = original()
        if switch.allowed(MATMUL) == (precision != "highest"):
            return precision
        return "high" if precision == "highest" else "highest"

    return call


def _set_precision(switch: Switch, original: Callable[[str], object]) -> Callable[[str], None]:
    def call(precision: str) -> None:
        original(precision)
        switch.allow(MATMUL, precision != "highest")

    return call


def _set_convolution(switch: Switch, original: Callable[[bool], object]) -> Callable[[bool], None]:
    def call(allowed: bool) -> None:
        original(allowed)
        switch.follow(CONVOLUTION, allowed)

    return call


def _set_fp32_precision(
    switch: Switch, native: ModuleType, original: Callable[[str, str, str], R]
) -> Callable[[str, str, str], R]:
    """The newer names form a tree (generic, cuda, cuda.matmul ...), so one assignment may change both switches."""

    def precisions() -> dict[str, str]:
        return {what: native._get_fp32_precision_getter("cuda", what) for what in (MATMUL, CONVOLUTION)}

    def call(backend: str, operator: str, precision: str) -> R:
        before = precisions()
        result = original(backend, operator, precision)
        for what, now in precisions().items():
            if now != before[what] or (backend, operator) == ("cuda", what):
                switch.leave_to_default(what) if now == "none" else switch.allow(what, now != "ieee")
        return result

    return call


def _cudnn(context: Context, switch: Switch) -> Patch:
    """The patch for `allow_tf32` of cudnn, a property that holds the functions that were there when torch was imported."""
    backends, native = context.torch.backends, context.torch._C

    def read() -> bool:
        native._get_cudnn_allow_tf32()  # raises where the program has mixed older and newer settings
        return switch.allowed(CONVOLUTION)

    def write(allowed: bool) -> None:
        native._set_cudnn_allow_tf32(allowed)
        switch.allow(CONVOLUTION, allowed)

    api = "torch.backends.cudnn.allow_tf32"
    return Patch(type(backends.cudnn), "allow_tf32", backends.ContextProp(read, write), api, to=_switch_name(context))
