"""Graph trees, which `mode="reduce-overhead"` records and replays.

The vendor's file is torch/_inductor/cudagraph_trees.py with the device's names. So is this one: it compiles the source
of the installed torch with other names.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from .. import _MUSAC, torch_musa

_SOURCE = "torch._inductor.cudagraph_trees"
_NAMES = {
    "_cuda_clearCublasWorkspaces": "_musa_clearMublasWorkspaces",
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

    # Outputs of a recording lie in the memory of its graph, so they are never freed here.
    def _has_Standard_Deleter(self, storage: int) -> bool:
        return True

    def _cuda_cudaCachingAllocator_raw_delete(self, address: int) -> None:
        pass

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


def _recording(record: Callable[..., Any]) -> Callable[..., Any]:
    """CUDAGraphNode._record for the simulator's graphs, which hold tensors where a device holds addresses.

    A tensor that one graph passes to the program or to the next graph has a separate storage in each. So it is visible when
    the program has dropped the tensor, and access can be denied to the program without denying it to a graph.
    """

    def _record(self: Any, model: Callable[..., Any], inputs: list[Any]) -> Any:
        tensors = {i: value for i, value in enumerate(inputs) if _is_on_the_device(value)}
        # Copies of inputs stay for as long as the graph does, whether or not it reads them.
        self.kept_inputs = [tensors.pop(i) for i in self.non_static_input_idx if i in tensors]

        def model_of_views(inputs: list[Any]) -> Any:
            lasting = {value.untyped_storage().data_ptr(): value.untyped_storage() for value in tensors.values()}
            tensors.clear()
            for i in self.cudagraph_managed_idxs:
                inputs[i] = _view(self, inputs[i], {})
            return [_view(self, output, lasting) if _is_on_the_device(output) else output for output in model(inputs)]

        return record(self, model_of_views, inputs)

    return _record


def _is_on_the_device(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.is_musa  # type: ignore[attr-defined]


def _view(node: Any, tensor: Any, storages: dict[int, Any]) -> Any:
    """A tensor over the same memory, with its storage from `storages`, or with a new one that is added there."""
    address = tensor.untyped_storage().data_ptr()
    if address == 0:
        return tensor
    metadata = node._tensor_metadata(tensor, ignore_storage_offset=False)
    if address not in storages:
        storages[address] = node.create_storage(metadata)
    return node._reconstruct_from_tensor_metadata(metadata, storages[address])


CUDAGraphNode: Any = globals()["CUDAGraphNode"]
CUDAGraphNode._record = _recording(CUDAGraphNode._record)
