"""What torchada has to know about an accelerator. Third parties add one through the entry-point group `torchada.backends`."""

from __future__ import annotations

from torchada.backends.build import Build, Compiler, Toolkit
from torchada.backends.parts import (
    Allocator,
    Collectives,
    CollectiveVariables,
    Graphs,
    Management,
    Names,
    Native,
    NativeLibrary,
    RuntimeVariables,
)
from torchada.backends.record import Record

__all__ = [
    "Allocator",
    "Backend",
    "Build",
    "CollectiveVariables",
    "Collectives",
    "Compiler",
    "Graphs",
    "Management",
    "Names",
    "Native",
    "NativeLibrary",
    "RuntimeVariables",
    "Toolkit",
]


class Backend(Record):
    """A PyTorch device that can stand in for CUDA. Only the first five fields are required.

    name: its name in TORCHADA_PLATFORM.
    device_type: its type in torch.device.
    adapter: the module whose import registers the device with PyTorch.
    namespace: the attribute of torch that mirrors torch.cuda.
    visible_devices: the environment variable that takes the place of CUDA_VISIBLE_DEVICES, "" where there is none.
    names: the adapter's names for things that have another name in CUDA.
    native: its C functions and libraries.
    collectives: its communication backends.
    graphs: what is known about its graphs.
    build: the tools that build extensions for it, or None where there are none.
    management: its management library, or None.
    allocator: the settings of its caching allocator, or None.
    variables: its runtime's names for CUDA's environment variables.
    simulator: a module with `finder.find_spec` that can stand in for the adapter on machines without the hardware.
    computes_on: the device type that tensors really have, where `device_type` is only a name for it: the platform host says "cuda",
        and computes on "cpu". None for every backend with a device of its own.
    single: there is never more than one device, so the first is always the current one.
    wing: a module with areas of the backend's own (`AREAS`), and in `REPLACES` the names of areas that they stand in for.
    """

    name: str
    device_type: str
    adapter: str
    namespace: str
    visible_devices: str
    names: Names = Names()
    native: Native = Native()
    collectives: Collectives = Collectives()
    graphs: Graphs = Graphs()
    build: Build | None = None
    management: Management | None = None
    allocator: Allocator | None = None
    variables: RuntimeVariables = RuntimeVariables()
    simulator: str | None = None
    computes_on: str | None = None
    single: bool = False
    wing: str | None = None
