"""What torch.compile asks while it traces a function: the function's view decides (views/tracing.py), and needs no guard.

A guard would ask again at each call, outside of the function, and get the answer for other code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.by_view import is_by_view
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

Getattr = Callable[[Any, "InstructionTranslatorBase", str], "VariableTracker"]

# Dynamo's tables of functions that it calls while it traces, and those of torch.cuda that are in one of them.
_FOLDED = ("constant_fold_functions", "constant_fold_functions_need_guards")
_OF_CUDA = ("current_device", "get_device_properties", "is_available", "is_initialized")


def patches(context: Context) -> Iterator[Patch]:
    from torch._dynamo.variables.misc import PythonModuleVariable
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

    entry = _entry()
    version = _version_getattr(context, getattr(PythonModuleVariable, entry))
    yield Patch(PythonModuleVariable, entry, version, None, note="torch.version.cuda under torch.compile")
    fold = _folds(TorchInGraphFunctionVariable.can_constant_fold_through)
    note = "torch.cuda.is_available() and its like under torch.compile"
    yield Patch(TorchInGraphFunctionVariable, "can_constant_fold_through", fold, None, note=note)
    yield from _tables(context)
    yield from _devices(context, entry)
    yield from _meshes(context, entry)


def _tables(context: Context) -> Iterator[Patch]:
    """torch_musa imports Dynamo before anything is redirected, so its tables of functions to call at once have torch's own."""
    import torch._dynamo.variables.torch as variables

    for table in (getattr(variables, name, {}) for name in _FOLDED):
        known = {getattr(entry, "__name__", "") for entry in table}
        for name in sorted(known.intersection(_OF_CUDA)):
            function = getattr(context.torch.cuda, name)
            yield Patch(table, function, None, None, note=f"torch.cuda.{name}() under torch.compile")


def _entry() -> str:
    """What torch.compile calls for an attribute. From torch 2.15 on it is named after CPython's slot."""
    from torch._dynamo.variables.base import VariableTracker

    return "tp_getattro_impl" if hasattr(VariableTracker, "tp_getattro_impl") else "var_getattr"


def _version_getattr(context: Context, original: Getattr) -> Getattr:
    version = context.torch.version

    def var_getattr(self: Any, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        if self.value is not version or name != "cuda":
            return original(self, tx, name)
        return _asked(tx, version, name)

    return disguise(var_getattr, original)


def _asked(tx: InstructionTranslatorBase, thing: object, name: str) -> VariableTracker:
    """The answer to the function that is traced, as a constant without a source, for which no guard is made."""
    from torch._dynamo.variables.constant import ConstantVariable

    answer: VariableTracker = ConstantVariable.create(eval(f"thing.{name}", tx.f_globals, {"thing": thing}))
    return answer


def _devices(context: Context, entry: str) -> Iterator[Patch]:
    """The `type` of a device that is an argument or a global. torch 2.7 and 2.15 guard it, those between the device alone."""
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.constant import ConstantVariable

    if entry != "var_getattr" or "is_python_constant" not in VariableTracker.var_getattr.__code__.co_names:
        call = _device_getattr(context.torch.device, getattr(ConstantVariable, entry))
        yield Patch(ConstantVariable, entry, call, None, note="torch.device.type under torch.compile")


def _device_getattr(device: type, original: Getattr) -> Getattr:
    def var_getattr(self: Any, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        if name != "type" or not isinstance(self.value, device):
            return original(self, tx, name)
        return _asked(tx, self.value, name)

    return disguise(var_getattr, original)


def _meshes(context: Context, entry: str) -> Iterator[Patch]:
    """DeviceMesh.device_type, where torch.compile takes a mesh for an object with guarded attributes (not yet in torch 2.7)."""
    from torch._dynamo.variables import script_object

    known, distributed = vars(script_object), context.torch.distributed
    # Its name from torch 2.15 on, and up to 2.14.
    kind = known.get("CustomClassObjectVariable") or known["TorchScriptObjectVariable"]
    if distributed.is_available() and entry in vars(kind):
        call = _mesh_getattr(distributed.device_mesh.DeviceMesh, getattr(kind, entry))
        yield Patch(kind, entry, call, None, note="DeviceMesh.device_type under torch.compile")


def _mesh_getattr(mesh: type, original: Getattr) -> Getattr:
    from torch._dynamo.guards import GuardBuilder, install_guard
    from torch._dynamo.source import AttrSource

    def var_getattr(self: Any, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        thing = getattr(self.value, "real_obj", self.value)
        if name != "device_type" or not isinstance(thing, mesh):
            return original(self, tx, name)
        if self.source and hasattr(thing, "_device_type"):  # the entry behind the property is the same for everybody
            install_guard(AttrSource(self.source, "_device_type").make_guard(GuardBuilder.CONSTANT_MATCH))
        return _asked(tx, thing, name)

    return disguise(var_getattr, original)


def _folds(
    original: Callable[[TorchInGraphFunctionVariable], bool],
) -> Callable[[TorchInGraphFunctionVariable], bool]:
    def can_constant_fold_through(self: TorchInGraphFunctionVariable) -> bool:
        return is_by_view(self.value) or original(self)

    return disguise(can_constant_fold_through, original)
