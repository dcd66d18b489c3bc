"""torch.compile and functions that ask for the device: from 2.11.0 on, their answers become constants, as those of torch.cuda do.

Before, Dynamo traced into them, as far as the native part, which it cannot trace. The vendor's table names functions of streams as
well, in all releases; here Dynamo finds streams by the interface of the device.
"""

from __future__ import annotations

import sys
from typing import Any

from musasim.base import release

from .late_import import after_import

#: Dynamo does not trace into these.
IN_GRAPH = (
    "current_device",
    "device_count",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
)
#: Tables of torch's: the functions whose answers it takes, and those of them that make it compile again when the answer changes.
FOLDED = {
    "constant_fold_functions": ("get_device_properties", "is_available", "current_device", "is_initialized"),
    "constant_fold_functions_need_guards": ("current_device", "is_initialized"),
}


def install() -> None:
    """Add the functions to torch's tables when these are imported."""
    if release.since("2.11.0"):
        after_import("torch._dynamo.trace_rules", _name_the_functions)
        after_import("torch._dynamo.variables.torch", _fold_the_answers)
        after_import("torch._dynamo.utils", _know_the_properties)


def _name_the_functions(rules: Any) -> None:
    from torch._dynamo.variables import TorchInGraphFunctionVariable

    rules.torch_name_rule_map[-1].update({f"torch_musa.{name}": TorchInGraphFunctionVariable for name in IN_GRAPH})
    rules.get_torch_obj_rule_map.cache_clear()


def _fold_the_answers(variables: Any) -> None:
    torch_musa = sys.modules["torch_musa"]
    for table, names in FOLDED.items():
        getattr(variables, table).update(dict.fromkeys(getattr(torch_musa, name) for name in names))


def _know_the_properties(utils: Any) -> None:
    torch_musa: Any = sys.modules["torch_musa"]
    utils.common_constant_types.add(torch_musa._MUSAC._MusaDeviceProperties)
