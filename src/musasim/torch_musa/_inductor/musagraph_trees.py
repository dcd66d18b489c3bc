"""Graph trees, which `mode="reduce-overhead"` records and replays.

The vendor's file is torch/_inductor/cudagraph_trees.py with the device's names. So is this one: it compiles the source
of the installed torch with other names.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
from typing import Any

from .. import _MUSAC, torch_musa

_SOURCE = "torch._inductor.cudagraph_trees"
_NAMES = {
    "_cuda_clearCublasWorkspaces": "_musa_clearMublasWorkspaces",
    "_cuda_cudaCachingAllocator_raw_delete": "_musa_musaCachingAllocator_raw_delete",
    "_construct_CUDA_Tensor_From_Storage_And_Metadata": "_construct_MUSA_Tensor_From_Storage_And_Metadata",
    "_cuda_endAllocateToPool": "_musa_endAllocateCurrentStreamToPool",
    "_cuda_beginAllocateCurrentThreadToPool": "_musa_beginAllocateCurrentStreamToPool",
}


class _Native:
    """A replacement for torch._C: the device's functions, or torch's where the device has none."""

    def __getattr__(self, name: str) -> Any:
        import torch

        own = getattr(_MUSAC, _NAMES.get(name, name.replace("_cuda_", "_musa_")), None)
        return getattr(torch._C, name) if own is None else own

    # The convolution library here has no benchmark cache, so there is nothing to preserve.
    def _cuda_get_conv_benchmark_empty_cache(self) -> bool:
        return False

    def _cudnn_set_conv_benchmark_empty_cache(self, enabled: bool) -> None:
        pass


class _OfTheDevice(ast.NodeTransformer):
    """torch.cuda becomes torch_musa, torch._C its native module, is_cuda is_musa."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.level == 1:  # from a module in the source's own package
            node.level, node.module = 0, ".".join(filter(None, [_SOURCE.rpartition(".")[0], node.module]))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "torch" and node.attr in ("cuda", "_C"):
            name = {"cuda": "torch_musa", "_C": "_native"}[node.attr]
            return ast.copy_location(ast.Name(name, node.ctx), node)
        node.attr = {"is_cuda": "is_musa", "CUDAGraph": "MUSAGraph"}.get(node.attr, node.attr)
        return node


def _torchs_own() -> dict[str, Any]:
    spec = importlib.util.find_spec(_SOURCE)
    assert spec is not None and spec.loader is not None
    source = spec.loader.get_source(_SOURCE)  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(_OfTheDevice().visit(ast.parse(source)))
    names = {"__name__": __name__, "__package__": __package__, "torch_musa": torch_musa, "_native": _Native()}
    # Classes look up their own module while they are created.
    vars(sys.modules[__name__]).update(names)
    exec(compile(module, spec.origin or _SOURCE, "exec"), vars(sys.modules[__name__]))
    return names


_torchs_own()

# The device's graphs have no conditional nodes, so torch.cond works as it does outside a graph.
for _name in ("ControlFlowOpWarmupDispatchMode", "CUDAGraphCaptureControlFlowOpDispatchMode"):
    globals()[_name] = contextlib.nullcontext


def _musa_name(name: str) -> str:
    return name.replace("cuda", "musa").replace("CUDA", "MUSA")


for _name, _value in list(globals().items()):
    if _name != _musa_name(_name) and getattr(_value, "__module__", None) == __name__:
        globals()[_musa_name(_name)] = _value
