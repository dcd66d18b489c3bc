"""What the adapter has to know of an accelerator. Third parties add one through the entry-point group `torchada.backends`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class NativeLibrary:
    """What stands in for one of CUDA's C libraries.

    `name` is the library's, as the linker's -l takes it. `prefixes` maps the beginnings of its functions' names, before a capital
    letter, and `renames` the names that do not follow them. `optional_suffix` ends names of CUDA's functions, and not always those
    of their counterparts.
    """

    name: str
    prefixes: Mapping[str, str]
    renames: Mapping[str, str] = field(default_factory=dict)
    optional_suffix: str = ""


@dataclass(frozen=True)
class CollectiveVariables:
    """What the collective library calls NCCL's environment variables.

    `prefixes` maps the beginnings of names, the longest first where one begins another. `renames` maps names that do not follow
    them. `known` are the names after a prefix that are all there is of that prefix; a prefix without an entry takes any.
    `absent` are beginnings of names that have no counterpart, `ignored` those that are no settings.
    """

    prefixes: Mapping[str, str] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, frozenset[str]] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def own_name(self, name: str) -> str | None:
        """The library's name for `name`: "" where it has no counterpart, None where it is no setting of NCCL."""
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


@dataclass(frozen=True)
class BuildTools:
    """What builds C++ extensions for a backend.

    `module` is the adapter's counterpart of torch.utils.cpp_extension: its attribute `home` is the folder of the toolkit or None,
    its functions include_paths and library_paths take the keyword `keyword` for the toolkit's. `variables` name that folder in the
    environment, the first one best, and `usual_home` is where it is by default. `compiler` is the program in its bin, unless the
    variable `compiler_variable` names another, `language` what its option -x takes, `lister` the program that lists devices.
    `arch_variable` lists architectures to compile for. `libraries` are the adapter's own for extensions to link with, `runtime` the
    toolkit's counterpart of cudart. `dnn_variables` name the folder of the neural network library. `source` is the suffix of files
    in its language, and `target_variable` names an architecture in place of what `lister` says.
    """

    module: str
    home: str
    keyword: str
    variables: tuple[str, ...]
    compiler: str
    compiler_variable: str
    language: str
    arch_variable: str
    libraries: tuple[str, ...]
    runtime: str
    lister: str
    usual_home: str
    dnn_variables: tuple[str, ...]
    source: str
    target_variable: str


@dataclass(frozen=True)
class Backend:
    """A PyTorch device that can stand in for CUDA.

    `name` is what TORCHADA_PLATFORM says, `device_type` what torch.device says, `adapter` the module whose import registers the
    device, `namespace` the attribute of torch that mirrors torch.cuda. `collectives` maps the names of communication backends,
    `dispatch_keys` those of CUDA's dispatch keys, `renames` the names of torch.cuda that are spelled differently in the namespace,
    as a path where they are not at its top. `libraries` maps the names of CUDA's C libraries ("cudart") to their counterparts.
    `native` is the attribute of the namespace that holds its C functions, and `native_spellings` maps the parts of their names
    to CUDA's ("musa" to "cuda"). `management` names a module with pynvml's functions for these devices, and the package on PyPI
    that has it; `arch_flag` is the compiler's option for one architecture. `graph_executables` is how many executable graphs
    the driver allows per process, about, or None for no known limit, and `graph_trees` the module that stands in for
    torch._inductor.cudagraph_trees. `dnn` is the module of torch.backends that has the
    switches of the neural network library, as torch.backends.cudnn has cuDNN's. `build_tools` is what builds extensions.
    `simulator` names a module with `finder.find_spec` that can stand in for the adapter on machines without the hardware.
    """

    name: str
    device_type: str
    adapter: str
    namespace: str
    visible_devices: str
    collectives: Mapping[str, str] = field(default_factory=dict)
    collective_variables: CollectiveVariables = field(default_factory=CollectiveVariables)
    dispatch_keys: Mapping[str, str] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    native: str = ""
    native_spellings: Mapping[str, str] = field(default_factory=dict)
    management: tuple[str, str] | None = None
    arch_flag: str = "{}"
    libraries: Mapping[str, NativeLibrary] = field(default_factory=dict)
    graph_executables: int | None = None
    graph_trees: str | None = None
    dnn: str | None = None
    build_tools: BuildTools | None = None
    simulator: str | None = None

    def process_group(self, distributed: Any, name: str) -> Any:
        """The class in torch.distributed that stands in for the communication backend `name`, or None."""
        own = self.collectives.get(name)
        return own and getattr(distributed, f"ProcessGroup{own.upper()}", None)

    @property
    def dispatch_key(self) -> str:
        """The dispatcher's key of the device: what devices from outside of PyTorch share, unless it says otherwise."""
        return self.dispatch_keys.get("CUDA", "PrivateUse1")
