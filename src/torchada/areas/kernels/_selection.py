"""Kernels that take the place of the backend's own only where that one refuses a call or, as a probe on the device finds, is wrong.

Calls on the device come to them by way of a gate in C++ (`_gates`), which hands the others on. Without one they are registered for
the key BackendSelect, which the dispatcher asks last before it chooses a device's kernel: below autograd and autocast, in inference
mode too. From both, the backend's own kernel can be called, so that nothing is replaced in order to ask. What PyTorch composes of
other operators has no kernel of the backend, and never comes to BackendSelect. It is given one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels import _handles
from torchada.areas.kernels._autocast import BelowAutocast
from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._verdicts import Function, Probe, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.engine import Skip
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet

_SELECT, _DEVICE = "BackendSelect", "PrivateUse1"
_NUMBERS = (bool, int, float, complex)


def need_own_kernels(context: Context) -> None:
    """Skip the area for a backend whose kernels are PyTorch's own, as the CPU's are."""
    if not _has_own_kernels(context):
        raise Skip(f"{context.backend.name} has PyTorch's kernels")


def _has_own_kernels(context: Context) -> bool:
    return DispatchKeys(context).names.get("CUDA") == _DEVICE


class Gated:
    """One operator, whose calls on the device come here, or some of them: `rule` says which."""

    rule = gates.ALWAYS
    only_in_cpp = False

    def __init__(self, context: Context, name: str, key: str = _SELECT) -> None:
        self.name = self._operator_name = name  # verdicts are kept by the first, which may say more
        self._context = context
        self._select = getattr(context.torch._C.DispatchKey, key)
        self._below_gate: DispatchKeySet | None = None
        self._following: Function | None = None
        self._leave: Callable[[], None] = _stay
        self._below_autocast = BelowAutocast(context)
        has_kernel = context.torch._C._dispatch_has_kernel_for_dispatch_key
        operator = f"aten::{name}"
        is_composed = has_kernel(operator, "CompositeImplicitAutograd") and not has_kernel(operator, _DEVICE)
        self.key = _DEVICE if is_composed else key

    @cached_property
    def _operator(self) -> Any:
        # Found at the first call: finding a hundred operators would make `import torch` longer.
        return overload(self._context.torch, self._operator_name)

    @property
    def is_needed(self) -> bool:
        return True

    def opened(self, below: DispatchKeySet, leave: Callable[[], None]) -> None:
        """A gate in C++ is open: `below` leads to the device's own kernel, and `leave` says that `is_needed` has changed."""
        self._below_gate, self._leave = below, leave

    def follow(self, kernel: Function | None) -> None:
        """Another kernel stands behind the same gate, and is to be called in the place of the device's own."""
        self._following = kernel

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _own(self, keys: DispatchKeySet) -> Function:
        if self._following is not None:
            return partial(self._following, keys)
        if self._below_gate is None and self.key == _DEVICE:
            composed: Function = self._operator.decompose
            return composed
        rest = self._below_gate or keys.remove(self._select)
        return lambda *args, **kwargs: self._operator.redispatch(rest, *self._with_tensors(args), **kwargs)

    @cached_property
    def _places(self) -> list[int]:
        """Of arguments that are tensors."""
        arguments = self._operator._schema.arguments
        return [place for place, argument in enumerate(arguments) if str(argument.type) == "Tensor"]

    def _with_tensors(self, args: Sequence[Any]) -> Sequence[Any]:
        """With tensors again where PyTorch has made numbers of them for the call of a Python function."""
        if not any(isinstance(args[place], _NUMBERS) for place in self._places if place < len(args)):
            return args
        torch, tensors = self._context.torch, list(args)
        kinds = [value for value in args if isinstance(value, torch.Tensor) and value.dtype != torch.bool]
        for place in self._places:
            if place < len(args) and isinstance(args[place], _NUMBERS):
                # Of the type that it gives the result beside the others, as a number does.
                kind = torch.result_type(kinds[0] if kinds else args[place], args[place])
                tensors[place] = torch.scalar_tensor(args[place], dtype=kind)
        return tensors

    def _count(self) -> None:
        """The replacement computes a call."""
        from torchada.redirect import replaced

        replaced.COUNTS[f"aten::{self._operator_name}"] += 1


class Kernel(Gated):
    """One operator: the backend's kernel where it is right, `replacement` elsewhere. Other devices' kernels are left alone.

    `only_captured`: whether the backend's kernel is right outside of captures in any case. `key`: one that only some tensors have,
    and that is asked before a device's kernel is chosen.
    """

    def __init__(
        self,
        context: Context,
        name: str,
        replacement: Function,
        probe: Probe,
        verdicts: Verdicts,
        only_captured: bool = False,
        key: str = _SELECT,
    ) -> None:
        super().__init__(context, name, key)
        self._replacement, self._probe, self._verdicts = replacement, probe, verdicts
        self._only_captured = only_captured
        # A backend without graphs captures nothing.
        self._is_capturing = getattr(context.namespace, "is_current_stream_capturing", bool)

    @property
    def is_needed(self) -> bool:
        return self._only_captured or self._verdicts.known(self.name) is not True

    @property
    def state(self) -> str:
        """What `torchada status` says of the kernel."""
        verdict = self._verdicts.known(self.name)
        adapter = self._context.backend.adapter
        if verdict is None:
            return f"{adapter}'s kernel is probed at the first call"
        if verdict:
            return f"{adapter}'s kernel is right, and used"
        where = "makes the host wait, and is replaced in captures"
        return f"{adapter}'s kernel {where if self._only_captured else 'is missing or wrong, and replaced'}"

    def device(self, *args: Any) -> Any:
        """The device whose kernel is called."""
        return args[0].device

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        """Whether the backend's kernel may be wrong about such a call. Others are the backend's, without a probe."""
        return True

    def case(self, *args: Any, **kwargs: Any) -> tuple[str, Probe]:
        """The name by which the verdict on such a call is kept, and the probe that finds it."""
        return self.name, self._probe

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        own, device = self._own(keys), self.device(*args)
        if device.type != self._context.backend.device_type or not self.concerns(*args, **kwargs):
            return own(*args, **kwargs)
        name, probe = self.case(*args, **kwargs)
        verdict = self._verdicts.known(name)
        # A capture cannot be interrupted by a probe; the replacement is right in any case.
        if verdict is None or self._only_captured:
            is_captured = self._is_capturing()
            if verdict is None and not is_captured:
                with self._below_autocast():
                    verdict = self._verdicts.probe(name, own, probe, device)
                if not self.is_needed:
                    self._leave()
            verdict = verdict or (self._only_captured and not is_captured)
        if verdict:
            return own(*args, **kwargs)
        self._count()
        with self._below_autocast():
            return self._replacement(*args, **kwargs)


# Operators of two tensors, one of which may be a number of the host's.
_WITH_HOST_SCALARS = ("where.", "pow.", "pow_.", "eq.", "eq_.", "ne.", "ne_.")


class Refusing(Gated):
    """One operator: the backend's kernel, and `replacement` for the data types that it has refused."""

    rule = gates.REFUSED

    def __init__(self, context: Context, name: str, replacement: Function) -> None:
        super().__init__(context, name)
        self._replacement, self._takes_host_scalars = replacement, name.startswith(_WITH_HOST_SCALARS)
        self._refused: set[tuple[Any, ...]] = set()
        torch = context.torch
        self._common = {torch.float32, torch.int64, torch.int32, torch.bool}

    @property
    def state(self) -> str:
        """What `torchada status` says of the kernel."""
        adapter = self._context.backend.adapter
        if not self._refused:
            return f"{adapter}'s kernel has refused no data type"
        types = sorted({str(dtype).removeprefix("torch.") for refused in self._refused for dtype in refused[1:]})
        return f"{adapter}'s kernel has refused {', '.join(types)}"

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        if self._refused and self._types(args, kwargs) in self._refused:
            self._count()
            with self._below_autocast():
                return self._replacement(*args, **kwargs)
        try:
            return self._own(keys)(*args, **kwargs)
        except RuntimeError as error:
            types = self._types(args, kwargs)
            if types is None or isinstance(error, self._context.torch.OutOfMemoryError):
                raise
            refusal = error
        try:
            with self._below_autocast():
                result = self._replacement(*args, **kwargs)
        except (IndexError, ValueError):
            raise  # it is about the call, such as a dimension that is not there, and CUDA says it too
        except Exception:
            # The data type was not the reason, or the replacement does not support it either.
            raise refusal from None
        finally:
            # Its traceback has this frame, which would keep the error, and both the tensors until Python collects its garbage.
            del refusal
        self._count()
        # Types that every kernel takes were refused for another reason, such as nine dimensions, and are tried again next time.
        if not self._common.issuperset(types[1:]):
            self._refused.add(types)
        return result

    def _types(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Whether all tensors are dense, and then their data types; None unless all are on one device of the backend."""
        torch = self._context.torch
        tensors = [argument for argument in (*args, *kwargs.values()) if isinstance(argument, torch.Tensor)]
        devices = {tensor.device for tensor in tensors if not (self._takes_host_scalars and _is_host_scalar(tensor))}
        if len(devices) != 1 or devices.pop().type != self._context.backend.device_type:
            return None
        # Kernels of other tensors call this one, or another, for what those are made of.
        is_dense = all(tensor.layout == torch.strided and not tensor.is_nested for tensor in tensors)
        return is_dense, *(tensor.dtype for tensor in tensors)


class _ByName:
    """An owner of patches: what is in force by a name, until its handle is reset."""

    __torchada_owner__ = True

    def __init__(self, context: Context) -> None:
        self._context = context
        self._in_force: dict[str, tuple[Any, Any]] = {}

    def get(self, name: str) -> Any:
        return self._in_force[name][0] if name in self._in_force else MISSING

    def set(self, name: str, value: Any) -> None:
        self._in_force[name] = value, self._handle(name, value)

    def delete(self, name: str) -> None:
        self._in_force.pop(name)[1].reset()

    def _handle(self, name: str, value: Any) -> Any:
        raise NotImplementedError


class Selection(_ByName):
    """Kernels of aten, by the operator's name."""

    @cached_property
    def _has_own_kernels(self) -> bool:
        return _has_own_kernels(self._context)

    def _handle(self, name: str, value: Any) -> Any:
        if isinstance(value, Gated) and value.key in (_SELECT, _DEVICE) and self._has_own_kernels:
            return gates.Place(self._context, value)
        return _handles.register(self._context.torch, name, value.key, _plain(value))


class Late(_ByName):
    """Kernels of many operators by one name, which are made when the program first uses the device."""

    def _handle(self, name: str, value: Callable[[], Iterable[Gated]]) -> Any:
        return gates.Group(self._context, value)


def _plain(kernel: Function) -> Function:
    """The dispatcher wants a function."""

    def call(keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        return kernel(keys, *args, **kwargs)

    return call


def _is_host_scalar(tensor: Tensor) -> bool:
    return tensor.dim() == 0 and tensor.device.type == "cpu"


def _stay() -> None:
    """A gate in Python stays where it is."""
