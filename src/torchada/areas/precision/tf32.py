"""TF32: CUDA has a switch for matrix products and one for convolutions; the backend has one for both, or as many as CUDA.

torch_musa 2.7.1 has torch.backends.mudnn.allow_tf32 for both. The switch is on while neither of CUDA's two refuses TF32: precision
that the program asked for is not given up because the other switch allows TF32. It starts as on, which programs for CUDA do not
expect: as on CUDA, the switch for products refuses TF32 until the program allows it. TORCHADA_VENDOR_PRECISION=1 leaves it on.

torch_musa 2.9.1 and newer also have torch.backends.musa.matmul.allow_tf32, for matrix products and attention, and muDNN's is for
convolutions alone. Both start as CUDA's do. Which of the two it is, is seen by what is there.

Every way to set CUDA's switches ends in torch._C: allow_tf32, set_float32_matmul_precision, fp32_precision, cudnn.flags. torch's
own flags are set as well, because the CPU's kernels read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
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
        """What has a switch of the backend: a module of torch.backends, or its `matmul`."""

        allow_tf32: bool


MATMUL, CONVOLUTION = "matmul", "conv"


class Switch:
    """A switch of the backend. As torch._C's setters, `set` also works after torch.backends.disable_global_flags()."""

    def __init__(self, name: str, owner: Library, unfrozen: Callable[[], AbstractContextManager[None]]) -> None:
        self.name = name
        self._owner, self._unfrozen = owner, unfrozen

    @property
    def is_on(self) -> bool:
        return bool(self._owner.allow_tf32)

    def set(self, on: bool) -> None:
        with self._unfrozen():
            self._owner.allow_tf32 = on


class Switches:
    """CUDA's two switches over those of the backend: `governs` has the one for matrix products and the one for convolutions."""

    def __init__(self, governs: Mapping[str, Switch]) -> None:
        self.governs = governs
        self._refused: set[str] = set()

    def allowed(self, what: str) -> bool:
        """What CUDA's switch for `what` reads. TF32 that is refused by the other switch alone is still allowed by this one."""
        return self.governs[what].is_on or (what not in self._refused and self._refuses(what))

    def allow(self, what: str, allowed: bool) -> None:
        """Set CUDA's switch for `what`, as the program asked."""
        (self._refused.discard if allowed else self._refused.add)(what)
        self.governs[what].set(not self._refuses(what))

    def _refuses(self, what: str) -> bool:
        """Whether one of CUDA's switches refuses TF32 to what the backend's switch for `what` governs."""
        return any(self.governs[refused] is self.governs[what] for refused in self._refused)

    def follow(self, what: str, allowed: bool) -> None:
        """As `allow`, but a setting that the program repeats does nothing: what was set by the backend's own name stays."""
        if allowed == (what in self._refused):
            self.allow(what, allowed)

    def start(self, at_first: Mapping[str, bool]) -> None:
        """Start as CUDA does. The backend's for convolutions is on by itself: the program has set one that is off."""
        self._refused.clear()
        kept = None if self.governs[CONVOLUTION].is_on else self.governs[CONVOLUTION]
        for what, allowed in at_first.items():
            if self.governs[what] is not kept:
                self.allow(what, allowed)


class Start:
    """An owner for the engine: while it has an entry, the backend's switches have started as CUDA's do."""

    __torchada_owner__ = True

    def __init__(self, switches: Switches, at_first: Callable[[], Mapping[str, bool]]) -> None:
        self._switches, self._at_first = switches, at_first
        self._before: dict[Switch, bool] = {}

    def get(self, name: str) -> object:
        return self._switches if self._before else MISSING

    def set(self, name: str, value: object) -> None:
        self._before = {switch: switch.is_on for switch in self._switches.governs.values()}
        self._switches.start(self._at_first())

    def delete(self, name: str) -> None:
        for switch, on in self._before.items():
            switch.set(on)
        self._before = {}


def patches(context: Context) -> Iterator[Patch]:
    governs, native = _governs(context), context.torch._C
    switches = Switches(governs)
    start = Start(switches, lambda: _at_first(context, governs))
    matmul, convolution = governs[MATMUL].name, governs[CONVOLUTION].name
    set_precision = partial(_set_precision, native._get_float32_matmul_precision)
    note = "matrix products in full precision until the program allows TF32"
    yield Patch(start, "start", switches, None, note=note, to=matmul)
    for entry, make, api, to in (
        ("_get_cublas_allow_tf32", _get_matmul, "torch.backends.cuda.matmul.allow_tf32", matmul),
        ("_set_cublas_allow_tf32", _set_matmul, "torch.backends.cuda.matmul.allow_tf32", matmul),
        ("_get_float32_matmul_precision", _get_precision, "torch.get_float32_matmul_precision", matmul),
        ("_set_float32_matmul_precision", set_precision, "torch.set_float32_matmul_precision", matmul),
        ("_set_cudnn_allow_tf32", _set_convolution, "torch.backends.cudnn.allow_tf32", convolution),
    ):
        original = getattr(native, entry)
        yield Patch(native, entry, disguise(make(switches, original), original), api, to=to)
    if hasattr(native, "_set_fp32_precision_setter"):
        original = native._set_fp32_precision_setter
        call = disguise(_set_fp32_precision(switches, native, original), original)
        yield Patch(native, original.__name__, call, "torch.backends.cuda.matmul.fp32_precision", to=matmul)
    yield _cudnn(context, switches)


def _governs(context: Context) -> dict[str, Switch]:
    """The backend's switch for matrix products and the one for convolutions, which may be the same."""
    backend, backends = context.backend, context.torch.backends
    unfrozen = backends.__allow_nonbracketed_mutation
    library = getattr(backends, backend.names.dnn or "", None)
    if library is None:
        raise Skip(f"{backend.name} has no switch for TF32")
    both = Switch(f"torch.backends.{backend.names.dnn}.allow_tf32", library, unfrozen)
    products = getattr(getattr(backends, backend.namespace, None), "matmul", None)
    if products is None or not hasattr(products, "allow_tf32"):
        return {MATMUL: both, CONVOLUTION: both}
    own = Switch(f"torch.backends.{backend.namespace}.matmul.allow_tf32", products, unfrozen)
    return {MATMUL: own, CONVOLUTION: both}


def _at_first(context: Context, governs: Mapping[str, Switch]) -> dict[str, bool]:
    """Whether TF32 is allowed to each when torchada comes: as on CUDA, as the environment asks, or as the program has set it.

    A switch for both is on by itself. One for matrix products is on where TORCH_ALLOW_TF32_MUBLAS_OVERRIDE=1 or the program asked.
    """
    vendors, native, matmul = context.settings.vendor_precision, context.torch._C, governs[MATMUL]
    if matmul is governs[CONVOLUTION]:
        products = vendors or _torch_allows(native, MATMUL)
    else:
        products = matmul.is_on or (not vendors and _torch_allows(native, MATMUL))
    return {MATMUL: products, CONVOLUTION: _torch_allows(native, CONVOLUTION)}


def _torch_allows(native: ModuleType, what: str) -> bool:
    """What torch's own flags say, which have CUDA's defaults and read TORCH_ALLOW_TF32_CUBLAS_OVERRIDE."""
    if hasattr(native, "_get_fp32_precision_getter"):  # the older getters raise where newer settings have been made
        return bool(native._get_fp32_precision_getter("cuda", what) == "tf32")
    if what == CONVOLUTION:
        return bool(native._get_cudnn_allow_tf32())
    return bool(native._get_float32_matmul_precision() != "highest")


def _get_matmul(switches: Switches, original: AnyFunction) -> Callable[[], bool]:
    def call() -> bool:
        original()  # raises where the program has mixed older and newer settings
        return switches.allowed(MATMUL)

    return call


def _set_matmul(switches: Switches, original: Callable[[bool], object]) -> Callable[[bool], None]:
    def call(allowed: bool) -> None:
        # dynamo sets the value that it has read, and then requires that torch's own flag, which C++ reads, is unchanged.
        if allowed != switches.allowed(MATMUL):
            original(allowed)
            switches.allow(MATMUL, allowed)

    return call


def _get_precision(switches: Switches, original: Callable[[], str]) -> Callable[[], str]:
    """torch's own answer unless the backend computes otherwise. Setting the value that was read changes nothing."""

    def call() -> str:
        precision = original()
        if switches.allowed(MATMUL) == (precision != "highest"):
            return precision
        return "high" if precision == "highest" else "highest"

    return call


def _set_precision(
    read: Callable[[], str], switches: Switches, original: Callable[[str], object]
) -> Callable[[str], None]:
    def call(precision: str) -> None:
        original(precision)
        # Of a word that it does not know torch only warns, and changes nothing.
        if read() == precision.lower():
            switches.allow(MATMUL, precision.lower() != "highest")

    return call


def _set_convolution(switches: Switches, original: Callable[[bool], object]) -> Callable[[bool], None]:
    def call(allowed: bool) -> None:
        original(allowed)
        switches.follow(CONVOLUTION, allowed)

    return call


def _set_fp32_precision(
    switches: Switches, native: ModuleType, original: Callable[[str, str, str], R]
) -> Callable[[str, str, str], R]:
    """The newer names form a tree (generic, cuda, cuda.matmul ...), so one assignment may change both switches.

    As in CUDA's kernels, only "tf32" allows TF32. torch.compile sets the precision of matrix products to what it has read, and that
    must not undo what the backend's own name has set.
    """

    def precisions() -> dict[str, str]:
        return {what: native._get_fp32_precision_getter("cuda", what) for what in (MATMUL, CONVOLUTION)}

    def call(backend: str, operator: str, precision: str) -> R:
        before = precisions()
        result = original(backend, operator, precision)
        for what, now in precisions().items():
            if now != before[what]:
                switches.allow(what, now == "tf32")
            elif (backend, operator) == ("cuda", what) and now != "none":
                switches.follow(what, now == "tf32")
        return result

    return call


def _cudnn(context: Context, switches: Switches) -> Patch:
    """The patch for `allow_tf32` of cudnn, a property that holds the functions that were there when torch was imported."""
    backends, native = context.torch.backends, context.torch._C

    def read() -> bool:
        native._get_cudnn_allow_tf32()  # raises where the program has mixed older and newer settings
        return switches.allowed(CONVOLUTION)

    def write(allowed: bool) -> None:
        native._set_cudnn_allow_tf32(allowed)
        switches.allow(CONVOLUTION, allowed)

    api, to = "torch.backends.cudnn.allow_tf32", switches.governs[CONVOLUTION].name
    return Patch(type(backends.cudnn), "allow_tf32", backends.ContextProp(read, write), api, to=to)
