"""Packages of the shape of Moore Threads' builds of Triton, written to a folder: what torchada looks at, and no compiler.

The builds of 3.1 and 3.2 keep a proxy as the active driver, call their backend mtgpu, have drivers without the newer methods, and
no triton.language.extra.cuda. That of 3.6 has everything that PyPI's 3.6 has, and a backend called musa.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

_BACKENDS = """
    from dataclasses import dataclass
    from importlib import import_module

    @dataclass(frozen=True)
    class Backend:
        compiler: type
        driver: type

    def _discover_backends():
        found = {}
        for name in NAMES:
            compiler, driver = (import_module(f"triton.backends.{name}.{part}") for part in ("compiler", "driver"))
            found[name] = Backend(compiler.Compiler, driver.Driver)
        return found

    from .compiler import GPUTarget
    backends = _discover_backends()
"""
_TARGET = """
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class GPUTarget:
        backend: str
        arch: object
        warp_size: int
"""
_COMPILER = """
    class Compiler:
        name = "NAME"

        def __init__(self, target):
            assert self.supports_target(target), target
            self.target = target

        @staticmethod
        def supports_target(target):
            return target.backend == "NAME".replace("mtgpu", "musa").replace("nvidia", "cuda")
"""
_DRIVER = """
    from triton.backends.compiler import GPUTarget

    class Driver:
        @staticmethod
        def is_active():
            import torch
            import torch_musa
            return torch.musa.is_available()

        def get_current_device(self):
            import torch_musa
            return torch_musa.current_device()

        def get_current_stream(self, index):
            import torch_musa
            return torch_musa._MUSAC._musa_getCurrentRawStream(index)

        def get_current_target(self):
            import torch_musa
            major, minor = torch_musa.get_device_capability(self.get_current_device())
            return GPUTarget("musa", major * 10 + minor, 32 if major > 2 else 128)
"""
_NEWER_DRIVER = """
        def get_device_interface(self):
            return "its own"

        def get_active_torch_device(self):
            return "its own"

        def get_benchmarker(self):
            return "its own"

        def get_empty_cache_for_benchmark(self):
            return "its own"

        def clear_cache(self, cache):
            pass
"""
_NVIDIA = """
    class Driver:
        def __init__(self):
            raise AssertionError("libcuda.so cannot found!")

        @staticmethod
        def is_active():
            import torch
            return torch.cuda.is_available()
"""
_CREATE = """
    from ..backends import backends

    def _create_driver():
        actives = [each.driver for each in backends.values() if each.driver.is_active()]
        if len(actives) != 1:
            raise RuntimeError(f"{len(actives)} active drivers ({actives}). There should only be one.")
        return actives[0]()
"""
_PROXY = """
    class LazyProxy:
        def __init__(self, init_fn):
            self._init_fn = init_fn
            self._obj = None

        def __getattr__(self, name):
            if self._obj is None:
                self._obj = self._init_fn()
            return getattr(self._obj, name)

    class DriverConfig:
        def __init__(self):
            self.default = LazyProxy(_create_driver)
            self.active = self.default

    driver = DriverConfig()
"""
_PROPERTY = """
    class DriverConfig:
        _active = None

        @property
        def active(self):
            self._active = self._active or _create_driver()
            return self._active

    driver = DriverConfig()
"""
_MAKE = """
    from ..backends import backends

    def make_backend(target):
        (found,) = [each.compiler for each in backends.values() if each.compiler.supports_target(target)]
        return found(target)
"""
_CORE = """
    def builtin(fn):
        fn.__triton_builtin__ = True
        return fn
"""
_LIBDEVICE = """
    from triton.language import core

    @core.builtin
    def tanh(arg0, _semantic=None):
        return "NAME"
"""
_STUBS = "def tanh(arg0):\n    ...\n"
_PACKAGE = "from . import backends, runtime, compiler, language\n"


def _backend(name: str, driver: str) -> dict[str, str]:
    folder = f"backends/{name}"
    return {
        f"{folder}/__init__.py": "",
        f"{folder}/compiler.py": _COMPILER.replace("NAME", name),
        f"{folder}/driver.py": driver,
    }


def _language(*names: str) -> dict[str, str]:
    files = {
        "language/__init__.py": "from . import core, extra\n",
        "language/core.py": _CORE,
        "language/extra/__init__.py": "".join(f"from . import {name}\n" for name in names),
        "language/extra/libdevice.py": _STUBS,
    }
    for name in names:
        files[f"language/extra/{name}/__init__.py"] = "from . import libdevice\n"
        files[f"language/extra/{name}/libdevice.py"] = _LIBDEVICE.replace("NAME", name)
    files["language/extra/musa/__init__.py"] += "from .libdevice import tanh as num_warps\n"
    return files


def write(folder: Path, version: str) -> Path:
    """Write the package of `version` ("3.1", "3.2" or "3.6") below `folder`, which then belongs on PYTHONPATH."""
    older = version != "3.6"
    own = "mtgpu" if older else "musa"
    names = (own,) if older else ("nvidia", own)
    files = {
        "__init__.py": f'__version__ = "{version}.0"\n' + _PACKAGE,
        "backends/__init__.py": f"NAMES = {names}\n" + dedent(_BACKENDS),
        "backends/compiler.py": _TARGET,
        "runtime/__init__.py": "from .driver import driver\n",
        "runtime/driver.py": dedent(_CREATE) + dedent(_PROXY if older else _PROPERTY),
        "compiler/__init__.py": "from .compiler import make_backend\n",
        "compiler/compiler.py": _MAKE,
        **_backend(own, _DRIVER if older else _DRIVER + _NEWER_DRIVER),
        **({} if older else _backend("nvidia", _NVIDIA)),
        **_language(*(("musa",) if older else ("cuda", "musa"))),
    }
    for name, text in files.items():
        path = folder / "triton" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return folder
