"""The parts of a backend's descriptor: names, native code, collectives, graphs, allocator, management. Each is optional."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchada.backends.record import Record

# All devices registered from outside of PyTorch share these: the keys of PrivateUse1, whatever it is renamed to.
PRIVATE_USE_1 = {
    "CUDA": "PrivateUse1",
    "AutogradCUDA": "AutogradPrivateUse1",
    "AutocastCUDA": "AutocastPrivateUse1",
    "SparseCUDA": "SparsePrivateUse1",
    "SparseCsrCUDA": "SparseCsrPrivateUse1",
    "QuantizedCUDA": "QuantizedPrivateUse1",
    "NestedTensorCUDA": "NestedTensorPrivateUse1",
}


class Names(Record):
    """The adapter's names for things that have another name in CUDA.

    renames: names of torch.cuda that are spelled differently in the namespace ("CUDAGraph": "MUSAGraph"); a path ("core.Error")
        where they are not at its top.
    dispatch_keys: CUDA's dispatch keys and the device's ("AutocastCUDA": "AutocastPrivateUse1"). The default fits every device
        that is registered from outside of PyTorch.
    dnn: the module of torch.backends with the switches of the neural network library, the counterpart of torch.backends.cudnn.
    vendor: a word besides the adapter's and the device's names by which sources show that they know the device.
    """

    renames: Mapping[str, str] = {}
    dispatch_keys: Mapping[str, str] = PRIVATE_USE_1
    dnn: str | None = None
    vendor: str = ""

    def own(self, name: str) -> str:
        """The namespace's name, or path, for the name `name` of torch.cuda."""
        return self.renames.get(name, name)

    @property
    def dispatch_key(self) -> str:
        """The dispatcher's key of the device itself."""
        return self.dispatch_keys.get("CUDA", "PrivateUse1")


class NativeLibrary(Record):
    """The counterpart of one of CUDA's C libraries.

    name: its name for the linker's -l ("musart").
    prefixes: the beginnings of its functions' names, before a capital letter ("cuda": "musa").
    renames: names of functions that do not follow the prefixes.
    optional_suffix: a suffix of names of CUDA's functions that their counterparts may lack ("_v2").
    """

    name: str
    prefixes: Mapping[str, str]
    renames: Mapping[str, str] = {}
    optional_suffix: str = ""


class Native(Record):
    """The device's C functions and libraries.

    module: the attribute of the namespace that holds the adapter's C functions ("_MUSAC"), as torch._C holds CUDA's; a path
        ("torch_npu._C") where it is an attribute of something in the namespace.
    spellings: parts of the names of these functions, and CUDA's for them ("musa": "cuda").
    libraries: CUDA's C libraries ("cudart") and their counterparts.
    """

    module: str = ""
    spellings: Mapping[str, str] = {}
    libraries: Mapping[str, NativeLibrary] = {}


class CollectiveVariables(Record):
    """The collective library's names for NCCL's environment variables.

    prefixes: the beginnings of names, the longest first where one begins another ("NCCL_": "MCCL_").
    renames: names that do not follow the prefixes.
    known: for each prefix, the ends of all names that exist; a prefix without an entry takes any.
    absent: beginnings of names that have no counterpart; setting one ends in a warning.
    ignored: beginnings of names that are not settings of the library.
    """

    prefixes: Mapping[str, str] = {}
    renames: Mapping[str, str] = {}
    known: Mapping[str, frozenset[str]] = {}
    absent: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def own_name(self, name: str) -> str | None:
        """The library's name for `name`: "" where it has no counterpart, None where it is not a setting of NCCL."""
        if name in self.renames:
            return self.renames[name]
        for prefix, own in self.prefixes.items():
            if name.startswith(prefix):
                if name.startswith(self.ignored):
                    return None
                rest = name[len(prefix) :]
                is_known = prefix not in self.known or rest in self.known[prefix]
                return own + rest if is_known and not name.startswith(self.absent) else ""
        return None


class Collectives(Record):
    """The communication backends of torch.distributed.

    names: CUDA's and the device's ("nccl": "mccl"). The class torch.distributed.ProcessGroupMCCL then answers for "nccl".
    variables: the library's names for NCCL's environment variables.
    """

    names: Mapping[str, str] = {}
    variables: CollectiveVariables = CollectiveVariables()

    def process_group(self, distributed: Any, name: str) -> Any:
        """The class in torch.distributed that stands in for the communication backend `name`, or None."""
        own = self.names.get(name)
        return own and getattr(distributed, f"ProcessGroup{own.upper()}", None)


class Graphs(Record):
    """CUDA graphs.

    executables: about how many executable graphs the driver allows in a process; None where no limit is known.
    simulated_limit: the environment variable with another limit, where the adapter is a simulation.
    trees: the module that replaces torch._inductor.cudagraph_trees.
    holds_handles: its graph objects begin with the driver's graph and its executable, and flags for them, so that an executable
        can be given up and made again.
    keep_pools: its graphs keep the memory of their pools when they are gone, unless their class takes `keep_graph`.
    """

    executables: int | None = None
    simulated_limit: str = ""
    trees: str | None = None
    holds_handles: bool = False
    keep_pools: bool = False


class Allocator(Record):
    """The caching allocator's settings.

    name: what to call it in a message ("torch_musa").
    variable: the environment variable that it reads where CUDA's reads PYTORCH_CUDA_ALLOC_CONF.
    options: the options that it knows, each with the values that it accepts, or () for any.
    since: the first release of the adapter that knows an option ("2.9.1"), for those that not every release knows.
    renames: CUDA's names of options that have another name here.
    """

    name: str
    variable: str
    options: Mapping[str, tuple[str, ...]]
    since: Mapping[str, str] = {}
    renames: Mapping[str, str] = {}


class RuntimeVariables(Record):
    """Environment variables of CUDA's runtime and libraries, besides those of visible devices, the allocator and NCCL.

    renames: CUDA's names, and the backend's, which take the same values.
    absent: names without a counterpart; setting one ends in a warning.
    """

    renames: Mapping[str, str] = {}
    absent: tuple[str, ...] = ()


class Management(Record):
    """The library behind the vendor's counterpart of nvidia-smi.

    module: the module with pynvml's functions for these devices.
    package: the package that contains it, by its name for pip.
    command: that counterpart itself; empty where none prints what torchada's nvidia-smi reads.
    library: names of the driver's C library under that module. It counts devices where the module is not installed.
    prefix: what the functions of that library begin with ("mtml": mtmlLibraryInit, mtmlLibraryCountDevice, mtmlDeviceGetUUID).
    """

    module: str
    package: str
    command: str = ""
    library: tuple[str, ...] = ()
    prefix: str = ""
