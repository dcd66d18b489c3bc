"""What torch.compile asks while it traces a function: the function's view decides (redirect/views/tracing.py), and needs no guard.

A guard would ask again at each call, outside of the function, and get the answer for other code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.views.answers import is_by_view

if TYPE_CHECKING:
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.misc import PythonModuleVariable
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable


def patches(context: Context) -> Iterator[Patch]:
    from torch._dynamo.variables.misc import PythonModuleVariable
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

    version = _var_getattr(context, PythonModuleVariable.var_getattr)
    yield Patch(PythonModuleVariable, "var_getattr", version, None, note="torch.version.cuda under torch.compile")
    fold = _folds(TorchInGraphFunctionVariable.can_constant_fold_through)
    note = "torch.cuda.is_available() and its like under torch.compile"
    yield Patch(TorchInGraphFunctionVariable, "can_constant_fold_through", fold, None, note=note)


def _var_getattr(
    context: Context, original: Callable[[PythonModuleVariable, InstructionTranslatorBase, str], VariableTracker]
) -> Callable[[PythonModuleVariable, InstructionTranslatorBase, str], VariableTracker]:
    version: Any = context.torch.version

    def var_getattr(self: PythonModuleVariable, tx: InstructionTranslatorBase, name: str) -> VariableTracker:
        if self.value is not version or name != "cuda":
            return original(self, tx, name)
        from torch._dynamo.variables.constant import ConstantVariable

        return ConstantVariable.create(eval("version.cuda", {**tx.f_globals, "version": version}))

    return disguise(var_getattr, original)


def _folds(
    original: Callable[[TorchInGraphFunctionVariable], bool],
) -> Callable[[TorchInGraphFunctionVariable], bool]:
    def can_constant_fold_through(self: TorchInGraphFunctionVariable) -> bool:
        return is_by_view(self.value) or original(self)

    return disguise(can_constant_fold_through, original)
