"""Calls of every function of torch that makes a tensor on a device, made from the operators' schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from torchada.redirect.namespaces import takes_device

# The places of the functions, and the public name of each.
_NAMESPACES = {
    "_VariableFunctionsClass": "torch.{}",
    "_fft": "torch.fft.{}",
    "_nested": "torch.nested.nested_{}",
    "_nn": "torch._C._nn.{}",
    "_linalg": "torch.linalg.{}",
    "_sparse": "torch.sparse.{}",
    "_special": "torch.special.{}",
}
_SAMPLES = {
    "List[int]": "(2, 3)",
    "int": "3",
    "number": "3",
    "Tensor": "x",
    "List[Tensor]": "[x, x]",
    "float": "0.5",
    "bool": "True",
    "str": "'nowhere'",
}
# Arguments that no schema describes: nested lists, and index tensors that match each other.
_KNOWN = {
    "tensor": "[1.0, 2.0]",
    "as_tensor": "[1.0, 2.0]",
    "asarray": "[1.0, 2.0]",
    "nested_tensor": "[torch.ones(2), torch.ones(3)]",
    "sparse_coo_tensor": "[[0, 1]], [1.0, 2.0], (3,)",
    "sparse_compressed_tensor": "[0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), layout=torch.sparse_csr",
    "sparse_csr_tensor": "[0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)",
    "sparse_csc_tensor": "[0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)",
    "sparse_bsr_tensor": "[0, 1, 2], [0, 1], [[[1.0]], [[2.0]]], (2, 2)",
    "sparse_bsc_tensor": "[0, 1, 2], [0, 1], [[[1.0]], [[2.0]]], (2, 2)",
}


def calls() -> Iterator[tuple[str, str, str]]:
    """The public name of each function, its place in torch._C, and a call of it on CUDA's device."""
    for space, pattern in _NAMESPACES.items():
        for name in sorted(vars(getattr(torch._C, space, object))):
            if takes_device(torch, name) and hasattr(getattr(torch._C, space), name):
                public = pattern.format(name.removeprefix(space.strip("_") + "_"))
                yield public, f"torch._C.{space}.{name}", _call(public, name)


def is_uninitialised(name: str) -> bool:
    return "empty" in name


def _call(public: str, name: str) -> str:
    """The first call that works on the CPU; a function without one raises the same error everywhere."""
    options = [f"{_KNOWN[name]}, "] if name in _KNOWN else list(_arguments(name))
    for given in options:
        if _works(f"{public}({given}device='cpu')"):
            return f"{public}({given}device='cuda')"
    return f"{public}({options[0]}device='cuda')"


def _works(text: str) -> bool:
    try:
        eval(text, {"torch": torch, "x": torch.arange(4.0)})
    except Exception:
        return False
    return True


def _arguments(name: str) -> Iterator[str]:
    schemas: Any = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    for schema in schemas:
        names = [argument.name for argument in schema.arguments]
        if "device" in names and "out" not in names:
            needed = [each for each in schema.arguments if not each.has_default_value() and each.name != "device"]
            given = [(each, _SAMPLES.get(str(each.type), "None")) for each in needed]
            yield "".join(f"{each.name}={text}, " if each.kwarg_only else f"{text}, " for each, text in given)
