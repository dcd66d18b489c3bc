"""What runs around the vendor's torch_musa/__init__.py when its native part is the simulator's (support/vendor_python.py).

It puts `torch_musa._MUSAC` in place, and does what the vendor's patched torch and its native part do besides. Names that the
vendor's Python takes from its native part and the simulator lacks are listed in `missing`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

#: Names that the simulator's native part lacks.
missing: list[str] = []
_NAME = "torch_musa._MUSAC"
#: What the vendor compiles for its optimizers, in Python in the simulator.
_OPTIMIZERS = "torch_musa._ext"
_kept: list[Any] = []
# Operators that the vendor's torch declares, as far as the simulator does not.
_OPERATORS = ("cross_entropy_loss_2d_choice(Tensor x) -> Tensor",)
_LOG_ARTIFACTS = ("musagraph_static_inputs", "musagraphs")


class _Native(ModuleType):
    """The simulator's native part. What it lacks is an empty class, so that the vendor's modules can be imported."""

    def __init__(self, native: ModuleType) -> None:
        super().__init__(_NAME)
        self.__file__ = native.__file__  # which is opened for the runtime's functions
        self.__dict__.update({name: value for name, value in vars(native).items() if not name.startswith("__")})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        missing.append(name)
        return type(name, (), {"__init__": lambda self, *args, **kwargs: None})


class _Finder:
    """Finds the native parts, which are no files of the vendor's package."""

    def __init__(self, module: ModuleType, folder: Path) -> None:
        self._module, self._folder = module, folder

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name == _OPTIMIZERS:
            return importlib.util.spec_from_file_location(name, self._folder / "_ext.py")
        return ModuleSpec(name, self) if name == _NAME else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        pass


class _PatchedTorch:
    """Finds files of torch that the vendor's torch has changed."""

    _folder = Path(__file__).parent / "torch_patched"

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        file = self._folder.joinpath(*name.split(".")).with_suffix(".py")
        if not name.startswith("torch.") or not file.exists():
            return None
        return importlib.util.spec_from_file_location(name, file)


def prepare(package: ModuleType) -> None:
    """Before the vendor's `package` is executed: it lends its name to the parts of the simulator's that are used."""
    import torch

    import musasim

    if torch._C._get_privateuse1_backend_name() != "musa":
        torch.utils.rename_privateuse1_backend("musa")
    vendors = set(sys.modules)
    from musasim.build import load

    native: Any = load()
    package._MUSAC = native  # type: ignore[attr-defined]
    _declare(torch)
    folder = Path(musasim.__file__).parent / "torch_musa"
    _load("torch_musa._vendor_torch", folder / "_vendor_torch").complete_torch()
    _register_process_group(folder, native)
    for name in set(sys.modules) - vendors:
        if name.startswith("torch_musa.") and "_vendor_torch" not in name:
            del sys.modules[name]
    # Right before the finder of files, because torchada's has to see the import as well.
    sys.meta_path.insert(sys.meta_path.index(PathFinder), _PatchedTorch())  # type: ignore[arg-type]
    sys.meta_path.insert(0, _Finder(_Native(native), folder))  # type: ignore[arg-type]


def finish(package: dict[str, Any]) -> None:
    """After the vendor's package has been executed; `package` is its dictionary."""
    _give_triton_a_backend()
    legacy = sys.modules["torch_musa._vendor_torch"].legacy_tensors
    legacy.add_types(package, package["_tensor_classes"])


def _give_triton_a_backend() -> None:
    """A machine with a Moore Threads GPU has the Triton of their making; the simulator adds a backend to PyPI's."""
    if importlib.util.find_spec("triton") is not None:
        import triton.backends  # the vendor's package has imported it by now

        from musasim.triton import register
        from musasim.triton.driver import MusaDriver

        register(triton.backends)
        # The driver looks for a torch_musa that says it is simulated; here the devices are.
        MusaDriver.is_active = staticmethod(lambda: True)  # type: ignore[method-assign]
        _provide_do_bench(triton.backends)
        _leave_the_driver_out()


def _leave_the_driver_out() -> None:
    """The vendor's driver and launcher are C, which Dynamo cannot trace, so it must not trace what stands for them."""
    import torch._dynamo.trace_rules as rules

    rules.add("musasim.triton")


def _provide_do_bench(backends: ModuleType) -> None:
    """The vendor's Inductor takes its benchmarks from a module of the vendor's Triton."""
    name = f"{backends.__name__}.mtgpu"
    for each in (name, f"{name}.musa_testing"):
        sys.modules.setdefault(each, ModuleType(each))
    sys.modules[f"{name}.musa_testing"].__getattr__ = _of_triton_testing  # type: ignore[method-assign]


def _of_triton_testing(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import triton.testing

    return getattr(triton.testing, name)


def _declare(torch: Any) -> None:
    import torch._logging._internal as logging

    for artifact in _LOG_ARTIFACTS:
        with contextlib.suppress(Exception):  # this torch has it
            logging.register_artifact(artifact, "the vendor's")
    library = torch.library.Library("aten", "FRAGMENT")
    _kept.append(library)
    for schema in _OPERATORS:
        with contextlib.suppress(RuntimeError):  # this torch has it
            library.define(schema)


def _load(name: str, folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None  # a file is given
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _register_process_group(folder: Path, native: ModuleType) -> None:
    """The vendor's native part makes its process group known to torch.distributed; the simulator does it in Python.

    That file and those beside it are imported under another name, without the package that they belong to.
    """
    package = _empty_package("musasim_process_group", folder)
    package._MUSAC = native  # type: ignore[attr-defined]
    _empty_package(f"{package.__name__}.core", folder / "core")
    import_module(f"{package.__name__}.core.process_group").register_process_group()


def _empty_package(name: str, folder: Path) -> ModuleType:
    package = sys.modules[name] = ModuleType(name)
    package.__path__ = [str(folder)]
    return package
