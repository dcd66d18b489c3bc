"""torch.backends.cudnn. Its switches are torch's own and work as they are; TF32 has an area of its own.

Programs distinguish platforms by `is_available` and `version`, and so these stay honest (False, None) unless
TORCHADA_FORCE_CUDA_AVAILABLE=1 is set: then they answer for the backend's library. Its version numbers are lower than cuDNN's, so a
program that compares them takes the code path for older versions.

The entries are put on the module object that programs see, and not into the module behind it, because the functions there call
`is_available` before they call cuDNN itself. `is_acceptable` stays False for the same reason: cuDNN's kernels cannot take the
backend's tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import unsupported


def patches(context: Context) -> Iterator[Patch]:
    cudnn = context.torch.backends.cudnn
    library = getattr(context.torch.backends, context.backend.names.dnn or "", None)
    if context.settings.force_cuda_available and library is not None:
        yield from _detection(context, cudnn, library)
    import torch.backends.cudnn.rnn as rnn  # a small module that older versions of torch import on first use

    why = "cuDNN's recurrent kernels are CUDA's own; torch.nn.RNN, LSTM and GRU run without them"
    for name in ("get_cudnn_mode", "init_dropout_state"):
        api = f"torch.backends.cudnn.rnn.{name}"
        yield Patch(rnn, name, unsupported(context, api, why, getattr(rnn, name)), api, kind="unsupported")


def _detection(context: Context, cudnn: ModuleType, library: ModuleType) -> Iterator[Patch]:
    namespace, name = context.namespace, f"torch.backends.{context.backend.names.dnn}"

    def is_available() -> bool:
        return bool(namespace.is_available())

    def version() -> int | None:
        return int(library.version()) if namespace.is_available() else None

    for function, to in (
        (is_available, f"torch.{context.backend.namespace}.is_available"),
        (version, f"{name}.version"),
    ):
        original = getattr(cudnn, function.__name__)
        api = f"torch.backends.cudnn.{function.__name__}"
        yield Patch(cudnn, function.__name__, disguise(function, original), api, to=to)
    yield Patch(context.torch._deprecated_attrs, "has_cudnn", is_available, "torch.has_cudnn")
