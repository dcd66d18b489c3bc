"""What a bug report says about the device: GPUs, versions of the driver and of the runtime, and what torchada does."""

from __future__ import annotations

import ctypes
from importlib import import_module

from torchada.redirect.context import Context
from torchada.redirect.library_names import NativeLibraries


class Environment:
    """Each part is a text, or None where it is not known."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._title = context.backend.name.upper()

    def gpus(self) -> str | None:
        """One line for each visible GPU."""
        namespace = self._context.torch.cuda
        count = namespace.device_count()
        return "\n".join(f"GPU {index}: {namespace.get_device_name(index)}" for index in range(count)) or None

    def driver(self) -> str | None:
        """The version that the driver supports."""
        return self._version("cudaDriverGetVersion", "driver")

    def runtime(self) -> str | None:
        """The version of the runtime library."""
        return self._version("cudaRuntimeGetVersion", "runtime")

    def torchada(self) -> str:
        """What torchada does in this process."""
        context, adapter = self._context, self._context.backend.adapter
        module = import_module(adapter)
        version = getattr(module, "__version__", "of unknown version")
        kind = ", simulated" if getattr(module, "__simulated__", False) else ""
        lines = (
            f"torchada: {context.version}, redirects CUDA to {context.backend.name}",
            f"{adapter}: {version}{kind}",
            f"Device strings: {context.mechanism.name} ({context.mechanism.why})",
        )
        return "\n".join(lines)

    def _version(self, function: str, what: str) -> str | None:
        libraries = NativeLibraries(self._context.backend)
        library = libraries.called("cudart")
        for file in libraries.files(library) if library else ():
            number = ctypes.c_int(0)
            try:
                ask = getattr(ctypes.CDLL(file), libraries.symbols(function)[0])
            except (OSError, AttributeError):
                continue
            if ask(ctypes.byref(number)) == 0:
                return (
                    f"{self._title} {what} {number.value // 10000}.{number.value % 10000 // 100}.{number.value % 100}"
                )
        return None
