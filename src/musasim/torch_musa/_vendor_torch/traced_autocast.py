"""`torch.musa.amp.autocast` in compiled code: two calls in the graph, as PyTorch makes of torch.cuda.amp.autocast."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from .late_import import after_import


def install() -> None:
    """Teach torch._dynamo the class, when the program imports torch._dynamo."""
    after_import("torch._dynamo.variables.torch", _know_the_class)


def _know_the_class(module: Any) -> None:
    autocast = sys.modules["torch_musa"].amp.autocast
    module.supported_ctx_manager_classes[autocast] = None
    variable = module.TorchCtxManagerClassVariable
    call_torchs_own = variable.call_function

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if self.value is not autocast:
            return call_torchs_own(self, tx, args, kwargs)
        bound = inspect.signature(autocast).bind(*args, **kwargs)
        bound.apply_defaults()
        general = sys.modules["torch"].amp.autocast_mode.autocast
        return module.AutocastModeVariable.create(general, (), {"device_type": "musa", **bound.arguments})

    variable.call_function = call_function
