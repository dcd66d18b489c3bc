"""Faces: the simulated device under the names of another vendor's adapter, as MUSASIM_FACE asks.

A face is a table of words. The simulator's Python part is read with these words in the place of its own, under the name of the
other vendor's package; its native part is shared, with its names translated in the same way. So what is simulated is torch_musa,
to the last detail, under names that are the other vendor's where the two have counterparts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pkgutil import resolve_name
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from musasim.errors import MusasimFaceError

VARIABLE = "MUSASIM_FACE"
# The simulator itself, and its library, are called so under every face.
_KEPT = r"musasim\w*|MUSASIM\w*|libmccl\b"


class Face(NamedTuple):
    """The names of one vendor.

    package: of the adapter. native: of its C module, in the package. visible: the variable that lists visible devices.
    words: what stands in the place of which word of torch_musa.
    lacks: names of torch_musa without a counterpart, by the other vendor's sources; the face has not got them either.
    brings: names of the other vendor's namespace that torch_musa's has not, and what they are, as pkgutil.resolve_name reads it.
    """

    package: str
    native: str
    visible: str
    words: dict[str, str]
    lacks: tuple[str, ...]
    brings: dict[str, str]


# Neither torch_npu nor torch_mlu has these. Private names that the simulator's own code calls are not taken away.
_NOWHERE_ELSE = (
    "MemPoolContext",
    "MusaError",
    "check_error",
    "current_blaslt_handle",
    "fork_rng",
    "get_arch_list",
    "is_tf32_supported",
    "memory_stats_all",
    "register_fake_impl",
    "update_musa_graph_with_profile",
    "use_unified_cpu_allocator",
)

FACES = {
    "npu": Face(
        "torch_npu",
        "_C",
        "ASCEND_RT_VISIBLE_DEVICES",
        {
            "PYTORCH_MUSA_ALLOC_CONF": "PYTORCH_NPU_ALLOC_CONF",
            "_MUSAC": "_C",
            "DeferredMusaCallError": "_DeferredNpuCallError",
            "musart": "npurt",
            "musa": "npu",
            "Musa": "Npu",
            "MUSA": "NPU",
            "mccl": "hccl",
            "MCCL": "HCCL",
        },
        _NOWHERE_ELSE,
        {"_DeferredNpuCallError": "torch_npu.core._lazy_init:_DeferredNpuCallError"},
    ),
    "mlu": Face(
        "torch_mlu",
        "_MLUC",
        "MLU_VISIBLE_DEVICES",
        {
            "PYTORCH_MUSA_ALLOC_CONF": "PYTORCH_MLU_ALLOC_CONF",
            "_MUSAC": "_MLUC",
            "mudnn": "cnnl",
            "musa": "mlu",
            "Musa": "Mlu",
            "MUSA": "MLU",
            "mccl": "cncl",
            "MCCL": "CNCL",
        },
        (
            *_NOWHERE_ELSE,
            "MUSAPluggableAllocator",
            "MemPool",
            "_sleep",
            "change_current_allocator",
            "current_blas_handle",
            "get_allocator_backend",
            "musart",
            "use_mem_pool",
        ),
        {"cnpx": "musasim.vendors.cnpx"},
    ),
}


def chosen() -> Face | None:
    """The face that the environment asks for, None for torch_musa's own. Raises MusasimFaceError for one that there is not."""
    name = os.environ.get(VARIABLE) or "musa"
    if name != "musa" and name not in FACES:
        raise MusasimFaceError(f"{VARIABLE}={name!r}: expected musa, {' or '.join(FACES)}")
    return FACES.get(name)


def translated(text: str, face: Face) -> str:
    """`text` with the words of `face` in the place of torch_musa's."""
    words = "|".join(sorted(map(re.escape, face.words), key=len, reverse=True))
    return re.sub(f"{_KEPT}|({words})", lambda word: face.words[word[0]] if word[1] else word[0], text)


class FaceLoader(SourceFileLoader):
    """Loads a module of the simulator's torch_musa as one of the face's package."""

    def __init__(self, fullname: str, path: str, face: Face) -> None:
        super().__init__(fullname, path)
        self._face = face

    def get_code(self, fullname: str) -> CodeType:
        # Not the one of SourceFileLoader, which would keep the code in __pycache__ for every face.
        path = self.get_filename(fullname)
        code: CodeType = compile(translated(self.get_data(path).decode("utf-8"), self._face), path, "exec")
        return code

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == self._face.package:
            _prepare(module, self._face)
        super().exec_module(module)
        if module.__name__ == self._face.package:
            for name in self._face.lacks:  # of which newer releases have fewer
                vars(module).pop(translated(name, self._face), None)
            for name, place in self._face.brings.items():
                setattr(module, name, resolve_name(place))


def _prepare(package: ModuleType, face: Face) -> None:
    """What has to be there before the package is executed: visible devices, its finder, its native part, and its own name."""
    visible = os.environ.get(face.visible)
    if visible is None:
        os.environ.pop("MUSA_VISIBLE_DEVICES", None)
    else:
        os.environ["MUSA_VISIBLE_DEVICES"] = visible
    sys.meta_path.insert(0, _Submodules(face))
    # Where the vendors have torch.npu apart from torch_npu, torch_musa has one module.
    name = face.words["musa"]
    setattr(package, name, package)
    sys.modules[f"{package.__name__}.{name}"] = package


class _Submodules:
    """Finds the modules of the face's package: the simulator's, and the native part under another name."""

    def __init__(self, face: Face) -> None:
        self._face = face

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        parent, _, name = fullname.rpartition(".")
        if parent.partition(".")[0] != self._face.package:
            return None
        folder = sys.modules[parent].__path__[0]
        loaders: Any = (lambda module, file: FaceLoader(module, file, self._face), [".py"])
        finder = FileFinder(folder, loaders)
        for spelled in (name, self._own(name)):
            own = finder.find_spec(f"{parent}.{spelled}")
            if own is not None and own.loader is not None:
                return self._spec(fullname, own)
        return None

    def _own(self, name: str) -> str:
        """torch_musa's name for the module `name` of the face."""
        for own, other in self._face.words.items():
            name = name.replace(other, own)
        return name

    def _spec(self, fullname: str, own: ModuleSpec) -> ModuleSpec:
        assert own.origin is not None
        spec = ModuleSpec(
            fullname,
            FaceLoader(fullname, own.origin, self._face),
            origin=own.origin,
            is_package=own.submodule_search_locations is not None,
        )
        spec.has_location = True
        if spec.submodule_search_locations is not None and own.submodule_search_locations is not None:
            spec.submodule_search_locations.extend(own.submodule_search_locations)
        return spec


def native_part(own: ModuleType) -> ModuleType:
    """The native module under the chosen face's names; `own` itself under torch_musa's."""
    face = chosen()
    if face is None:
        return own
    name = f"{face.package}.{face.native}"
    if name not in sys.modules:
        module = sys.modules[name] = _renamed(name, own, face)
        initialise = translated("_musa_init", face)
        setattr(module, initialise, _initialising(own._musa_init, face))
    return sys.modules[name]


def _renamed(name: str, own: ModuleType, face: Face) -> ModuleType:
    """A module `name` with what `own` has, under the face's names."""
    module = ModuleType(name)
    for own_name, value in vars(own).items():
        vars(module).setdefault(translated(own_name, face), _named(value, face))
    return module


def _named(value: Any, face: Face) -> Any:
    """`value`; a module, or a class with attributes such as `musa_stream`, has the face's names for them."""
    if isinstance(value, ModuleType):
        return _renamed(translated(value.__name__, face), value, face)
    if not isinstance(value, type):
        return value
    own = {translated(name, face): attribute for name, attribute in vars(value).items() if not name.startswith("__")}
    new = {name: attribute for name, attribute in own.items() if name not in vars(value)}
    if type(value).__name__ == "pybind11_type":
        return _renaming(value, new, face)
    return type(translated(value.__name__, face), (value,), new) if new else value


def _renaming(kind: Any, new: dict[str, Any], face: Face) -> Any:
    """`kind` itself: C++ returns objects of it, which are none of a subclass."""
    for name in [name for name in vars(kind) if translated(name, face) in new]:
        delattr(kind, name)
    for name, attribute in new.items():
        setattr(kind, name, attribute)
    return kind


def _initialising(initialise: Callable[[], None], face: Face) -> Callable[[], None]:
    """`_musa_init`, which sets attributes of the module named torch_musa: while it runs, that is the face's package."""

    def call() -> None:
        sys.modules["torch_musa"] = sys.modules[face.package]
        try:
            initialise()
        finally:
            del sys.modules["torch_musa"]

    return call
