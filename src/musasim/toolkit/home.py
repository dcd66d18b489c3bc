"""Makes the folder for MUSA_HOME, once for each state of its sources."""

from __future__ import annotations

import hashlib
import shutil
import sys
from functools import partial
from pathlib import Path

from _torchada_cache import compilers
from musasim.base import cache
from musasim.base.toolchain import SHARED_LIBRARY, find_compiler
from musasim.errors import MusasimBuildError
from musasim.toolkit.libraries import by_name

_RUNTIME = "libmusart.so"
_PACKAGE = Path(__file__).parent
_MUSART = _PACKAGE.parent / "musart"
_DRIVER = [
    _PACKAGE / "libraries" / "musa" / name for name in ("driver_api.cpp", "memory_pools.cpp", "virtual_memory.cpp")
]
# The host APIs of muBLAS and others.
_LIBRARIES = ("mublas", "mublasLt", "musolver", "musparse", "mufft", "murand")
_MORE_SOURCES = {"mublas": ("mublas_more",), "musparse": ("musparse_described", "musparse_generic")}
# Headers that only include another: those that stand in CUDA's toolkit under names of their own.
FORWARDING = {
    "musa_runtime.h": "device_functions.h device_launch_parameters.h",
    "musa_runtime_api.h": "driver_types.h musa_profiler_api.h",  # torch_musa 2.7.1 includes the latter for musaProfilerStart
    "musasim/device_functions.h": "device_atomic_functions.h math_functions.h",  # which every kernel has anyway
    "musa_bf16.h": "musa_bf16.hpp",
    "musa_fp16.h": "musa_fp16.hpp",
    "mublas.h": "mublas_api.h",
    "musolver.h": "musolverDn.h",
    "murand_kernel.h": "murand_lognormal.h murand_normal.h murand_philox4x32_10.h murand_poisson.h murand_uniform.h",
    "cub/iterator/cache_modified_input_iterator.cuh": "cub/thread/thread_load.cuh",
    "thrust/detail/algorithms.h": """
        thrust/adjacent_difference.h thrust/binary_search.h thrust/copy.h thrust/count.h thrust/equal.h
        thrust/extrema.h thrust/fill.h thrust/find.h thrust/for_each.h thrust/gather.h thrust/inner_product.h
        thrust/logical.h thrust/reduce.h thrust/remove.h thrust/scan.h thrust/scatter.h thrust/sequence.h
        thrust/sort.h thrust/tabulate.h thrust/transform.h thrust/transform_reduce.h thrust/unique.h
    """,
    "thrust/detail/device_memory.h": """
        thrust/device_free.h thrust/device_malloc.h thrust/device_ptr.h thrust/device_reference.h thrust/system_error.h
    """,
    "thrust/device_vector.h": "thrust/host_vector.h",
    "thrust/execution_policy.h": "thrust/system/musa/execution_policy.h",
    "thrust/iterator/iterators.h": """
        thrust/iterator/constant_iterator.h thrust/iterator/counting_iterator.h thrust/iterator/discard_iterator.h
        thrust/iterator/permutation_iterator.h thrust/iterator/reverse_iterator.h thrust/iterator/transform_iterator.h
        thrust/iterator/zip_iterator.h
    """,
    "thrust/random.h": """
        thrust/random/linear_congruential_engine.h thrust/random/normal_distribution.h
        thrust/random/uniform_int_distribution.h thrust/random/uniform_real_distribution.h
    """,
    "thrust/distance.h": "thrust/advance.h",
    "thrust/tuple.h": "thrust/pair.h",
    "musa/annotated_ptr": "musa/access_property musa/discard_memory",
    "musa_texture_types.h": "channel_descriptor.h texture_fetch_functions.h texture_indirect_functions.h texture_types.h",
}
# The host's standard library, under musa::std as well.
STANDARD_LIBRARY = """
    algorithm array atomic bit cassert cfloat chrono climits cmath complex cstddef cstdint cstring functional
    initializer_list iterator limits numeric optional ratio tuple type_traits utility variant
"""
_PROGRAMS = {
    "mcc": "musasim.toolkit.compiler.mcc",
    "musaInfo": "musasim.toolkit.programs.musa_info",
    "mthreads-gmi": "musasim.toolkit.programs.mthreads_gmi",
    "musa_toolkits_version": "musasim.toolkit.programs.toolkits_version",
}


def home() -> Path:
    """Return the simulated MUSA_HOME. One process at a time makes it, if there is none yet for these sources."""
    runtime = standalone_runtime()
    named = [file for library in by_name.ALL for file in library.files()]
    files = [*_package_files(), *_library_files(), *named, *_runtime_files()]
    libraries = cache.stored(f"libraries-{_digest(files)}", partial(_compile_libraries, runtime))
    return cache.stored(f"toolkit-{_digest(files, _identity())}", partial(_make, runtime, libraries))


def standalone_runtime() -> Path:
    """Return libmusart.so, for programs without PyTorch."""
    return cache.stored(f"musart-{_digest(_runtime_files())}", _compile_runtime) / _RUNTIME


def _identity() -> str:
    """Return what the programs refer to: their Python, their package and the runtime."""
    return f"{sys.executable}\n{_PACKAGE}\n{_digest(_runtime_files())}"


def _package_files() -> list[Path]:
    headers = [path for path in (_PACKAGE / "include").rglob("*") if path.is_file()]
    return [*headers, *(_MUSART / "include").rglob("*.h"), *_DRIVER, Path(__file__)]


def _library_files() -> list[Path]:
    return [path for path in (_PACKAGE / "libraries").iterdir() if path.suffix in (".cpp", ".h")]


def _runtime_files() -> list[Path]:
    return [path for path in _MUSART.rglob("*") if path.suffix in (".cpp", ".h")]


def _digest(files: list[Path], more: str = "") -> str:
    digest = hashlib.sha256(cache.LAYOUT + more.encode())
    for path in sorted(files):
        digest.update(f"{path.relative_to(_PACKAGE.parent)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _compile_runtime(place: Path) -> None:
    """Compile libmusart.so, from the same sources and with the same name as the one that torch_musa's extension loads.

    A process loads only one of the two, because the dynamic linker compares the names inside the libraries.
    """
    print("musasim: compiling its runtime (once, a few seconds) ...", file=sys.stderr, flush=True)
    _compile_library([_MUSART / "musart.cpp"], place / _RUNTIME, "-O2")


def _compile_libraries(runtime: Path, place: Path) -> None:
    """Compile what links against the runtime: the driver's API, and the host APIs of muBLAS and others."""
    include = place / "include"
    _copy_headers(include)
    link = [f"-I{include}", f"-L{runtime.parent}", f"-L{place}", "-lmusart", "-Wl,-rpath,$ORIGIN"]
    _compile_library(_DRIVER, place / "libmusa.so", *link)
    for name in _LIBRARIES:
        needs = ["-lmublas"] if name == "musolver" else []
        stems = (name, *_MORE_SOURCES.get(name, ()))
        sources = [_PACKAGE / "libraries" / f"{stem}.cpp" for stem in stems]
        _compile_library(sources, place / f"lib{name}.so", *link, *needs)
    shutil.rmtree(include)


def _make(runtime: Path, libraries: Path, place: Path) -> None:
    _copy_headers(place / "include")
    (place / "lib").mkdir()
    for library in (runtime, *libraries.glob("lib*.so")):
        shutil.copy2(library, place / "lib" / library.name)
    for named in by_name.ALL:
        shutil.copy2(named.library(runtime), place / "lib" / named.name)
        (place / "lib" / f"lib{named.stem}.so").symlink_to(named.name)
    (place / "bin").mkdir()
    for name, module in _PROGRAMS.items():
        _write_program(place / "bin" / name, module)


def _compile_library(sources: list[Path], target: Path, *more: str) -> None:
    command = [
        *find_compiler(),
        *SHARED_LIBRARY,
        f"-Wl,-soname,{target.name}",
        *map(str, sources),
        *more,
        "-o",
        str(target),
    ]
    done = compilers.run(command)
    if done.status != 0:
        raise MusasimBuildError(f"musasim: compiling {target.name} failed.\n{done.output}")


def _copy_headers(include: Path) -> None:
    shutil.copytree(_PACKAGE / "include", include)
    shutil.copy2(_MUSART / "include" / "musa_runtime_api.h", include / "musasim" / "runtime_api.h")
    shutil.copytree(_MUSART / "include" / "musasim", include / "musasim", dirs_exist_ok=True)
    for included, names in FORWARDING.items():
        for name in names.split():
            _write_header(include / name, f'#include "{included}"')
    for name in STANDARD_LIBRARY.split():
        _write_header(include / "musa" / "std" / name, f'#include <{name}>\n\n#include "musa/std/names.h"')


def _write_header(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#pragma once\n\n{text}\n", encoding="utf-8")


def _write_program(path: Path, module: str) -> None:
    """Write a program that runs from any shell without variables, because it names its Python and the package's folder."""
    path.write_text(
        f"{_shebang(sys.executable)}\n"
        "import sys\n"
        f"sys.path.insert(0, {str(_PACKAGE.parent.parent)!r})\n"
        f"from {module} import main\n"
        "sys.exit(main(sys.argv[1:]))\n",
        encoding="utf-8",
    )
    path.chmod(0o755)


def _shebang(python: str) -> str:
    """Return a first line that Linux can run. It reads 127 characters, up to the first space.

    For a longer path the shell runs the second line, which is a string to Python.
    """
    plain = f"#!{python} -IS"
    if len(plain) < 127 and " " not in python:
        return plain
    return f"#!/bin/sh\n'''exec' \"{python}\" -IS \"$0\" \"$@\"\n' '''"
