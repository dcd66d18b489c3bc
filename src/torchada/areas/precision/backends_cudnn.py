"""torch.backends.cudnn. Its switches are torch's own and work as they are; TF32 has an area of its own.

Programs distinguish platforms by `is_available` and `version`, and ask `is_acceptable` before they take a fast path. Code that sees
CUDA gets the answers of the backend's library, and other code torch's own (False, None); with TORCHADA_FORCE_CUDA_AVAILABLE=1,
everybody gets the library's. Its version numbers are lower than cuDNN's, so a program that compares them takes the code path for
older versions.

The entries are put on the module object that programs see, and not into the module behind it, because the functions there call
`is_available` before they call cuDNN itself. `is_acceptable` stays torch's own for torch: cuDNN's kernels cannot take the backend's
tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.redirect.by_view import by_view
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import unsupported

if TYPE_CHECKING:
    from torchada.redirect.types import Tensor


def patches(context: Context) -> Iterator[Patch]:
    cudnn = context.torch.backends.cudnn
    library = getattr(context.torch.backends, context.backend.names.dnn or "", None)
    if library is not None:
        yield from _detection(context, cudnn, library)
    import torch.backends.cudnn.rnn as rnn  # a small module that older versions of torch import on first use

    why = "cuDNN's recurrent kernels are CUDA's own; torch.nn.RNN, LSTM and GRU run without them"
    for name in ("get_cudnn_mode", "init_dropout_state"):
        api = f"torch.backends.cudnn.rnn.{name}"
        yield Patch(rnn, name, unsupported(context, api, why, getattr(rnn, name)), api, kind="unsupported")


def _detection(context: Context, cudnn: ModuleType, library: ModuleType) -> Iterator[Patch]:
    namespace, name = context.namespace, f"torch.backends.{context.backend.names.dnn}"
    forced = context.settings.force_cuda_available

    def is_available() -> bool:
        return bool(namespace.is_available())

    def version() -> int | None:
        return int(library.version()) if namespace.is_available() else None

    for function, to in (
        (is_available, f"torch.{context.backend.namespace}.is_available"),
        (version, f"{name}.version"),
    ):
        original = getattr(cudnn, function.__name__)
        answer = disguise(function, original) if forced else by_view(context.views, function, original)
        api = f"torch.backends.cudnn.{function.__name__}"
        yield Patch(cudnn, function.__name__, answer, api, to=to)
    acceptable = by_view(context.views, _is_acceptable(context, cudnn), cudnn.is_acceptable)
    yield Patch(cudnn, "is_acceptable", acceptable, "torch.backends.cudnn.is_acceptable", to=name)
    has_cudnn = is_available if forced else by_view(context.views, is_available, cudnn.is_available, depth=2)
    yield Patch(context.torch._deprecated_attrs, "has_cudnn", has_cudnn, "torch.has_cudnn")


def _is_acceptable(context: Context, cudnn: ModuleType) -> Callable[[Tensor], bool]:
    """Whether the backend's library can take a tensor, by cuDNN's rule: enabled, on the device, and of one of its types."""
    enabled, available = context.torch._C._get_cudnn_enabled, context.namespace.is_available
    device_type, dtypes = context.backend.device_type, cudnn.CUDNN_TENSOR_DTYPES

    def is_acceptable(tensor: Tensor) -> bool:
        return bool(enabled()) and tensor.device.type == device_type and tensor.dtype in dtypes and bool(available())

    return is_acceptable
