"""torch.cuda.is_available(): code that knows CUDA alone gets the device's answer, and other code the honest one, False.

torch's own function would count the backend's devices, because it asks functions that answer for these (`device_queries`).
With PYTORCH_NVML_BASED_CUDA_CHECK=1 the management library is asked, as CUDA asks NVML: forked children keep the devices then.
With TORCHADA_FORCE_CUDA_AVAILABLE=1, everybody gets the device's answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.by_view import Question, by_view, declared
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.native import device_views as native


def patches(context: Context) -> Iterator[Patch]:
    cuda, to = context.torch.cuda, f"torch.{context.backend.namespace}.is_available"
    answer = _the_devices(context)
    if not context.settings.force_cuda_available:
        answer = _by_view(context, answer, disguise(_no, cuda.is_available))
    yield Patch(cuda, "is_available", answer, "torch.cuda.is_available", to=to)


def _by_view(context: Context, devices: Callable[[], bool], honest: Callable[[], bool]) -> Callable[[], bool]:
    """In C, where the mechanism is native: libraries ask again and again, and the answer itself takes no longer than a call."""
    if context.mechanism.native:
        try:
            return declared(native.available(context.views, devices), Question(devices, honest, 1))
        except (ImportError, RuntimeError):
            pass
    return by_view(context.views, devices, honest)


def _no() -> bool:
    return False


def _the_devices(context: Context) -> Callable[[], bool]:
    cuda, namespace = context.torch.cuda, context.namespace
    by_runtime = getattr(namespace, "is_available", lambda: namespace.device_count() > 0)
    asked_for_library = getattr(cuda, "_nvml_based_avail", _no)
    has_asked_runtime = False

    def is_available() -> bool:
        nonlocal has_asked_runtime
        if not has_asked_runtime and asked_for_library():
            return bool(cuda.device_count() > 0)
        has_asked_runtime = True  # the library would spare forked children nothing from now on
        return by_runtime()

    return is_available
