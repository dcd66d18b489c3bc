"""The backend's management library: what nvidia-smi knows, under the function names of pynvml.

It is imported at its first use, because few programs use it.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING
from uuid import UUID

from torchada.areas.cuda._device_attributes import index_of
from torchada.redirect.context import Context
from torchada.redirect.unsupported import UnsupportedAttributeError, error

if TYPE_CHECKING:
    from torchada.areas.cuda._driver_library import DriverLibrary
    from torchada.redirect.types import DeviceLike


class Management:
    """Replaces the module pynvml in torch.cuda: its attributes are those of the backend's module of that kind."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.module(), name)

    def module(self) -> ModuleType:
        """The module. Raises ModuleNotFoundError, as torch.cuda does without pynvml, and names the package to install."""
        library = self._context.backend.management
        name, package = (library.module, library.package) if library else ("pynvml", "nvidia-ml-py")
        try:
            return import_module(name)
        except ImportError as missing:
            what = f"the module {name} is needed, and cannot be imported ({missing}): pip install {package}"
            raise ModuleNotFoundError(what, name=name) from missing

    def start(self) -> None:
        """Initialize the library. Raises RuntimeError if there is no driver, as torch.cuda does."""
        module = self.module()
        try:
            module.nvmlInit()
        except Exception as failure:
            raise RuntimeError(f"the driver cannot be reached through {module.__name__}: {failure}") from failure

    def handle(self, device: DeviceLike = None) -> object:
        """The library's handle of a device, which is given by its index among the visible ones."""
        self.start()
        return self.module().nvmlDeviceGetHandleByIndex(self._context.torch.cuda._get_nvml_device_index(device))

    def count(self) -> int:
        """The number of devices, visible or not."""
        if not self._has_module:
            return self._driver.count
        self.start()
        return int(self.module().nvmlDeviceGetCount())

    def uuids(self) -> list[str]:
        """The identities of all devices, as the library writes them."""
        if not self._has_module:
            return self._driver.uuids
        module = self.module()
        return [module.nvmlDeviceGetUUID(module.nvmlDeviceGetHandleByIndex(index)) for index in range(self.count())]

    @cached_property
    def _has_module(self) -> bool:
        """Whether the module can be imported, which is tried once: a failed import takes long."""
        try:
            self.module()
        except ImportError:
            return False
        return True

    @cached_property
    def _driver(self) -> DriverLibrary:
        from torchada.areas.cuda._driver_library import DriverLibrary

        library = self._context.backend.management
        return DriverLibrary(library.library, library.prefix) if library else DriverLibrary((), "")

    def uuid(self, properties: object) -> UUID:
        """The identity of the device that has these properties of torch's."""
        try:
            index = self._context.torch.cuda._get_nvml_device_index(index_of(properties, self._context))
            text = self.uuids()[index]
        except (ImportError, RuntimeError) as missing:
            api = "torch.cuda.get_device_properties().uuid"
            raise UnsupportedAttributeError(error(self._context, api, str(missing))) from missing
        return UUID(text.removeprefix("GPU-"))
