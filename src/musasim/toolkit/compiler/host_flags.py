"""What code for a GPU may rely on and the host's compiler, left to itself, does not give: options for each such thing."""

from __future__ import annotations

# For GCC and clang.
_FOR_ALL = (
    # Kernels load vectors through pointers to other types: *reinterpret_cast<uint4*>(halves).
    "-fno-strict-aliasing",
    # Hashes and random numbers count beyond the largest int, and a device's integers wrap.
    "-fwrapv",
    # A loop that never ends is one: a worker that waits for work must not be removed.
    "-fno-finite-loops",
)
# What clang, which mcc is made of, does not do, and GCC does.
_FOR_GCC = (
    # (&v.x)[i] walks through a vector; GCC concludes from the size of a member how often a loop can run.
    "-fno-aggressive-loop-optimizations",
    # Stores to memory before an object is placed there are kept.
    "-fno-lifetime-dse",
)


def options(compiler_is_clang: bool) -> list[str]:
    """Return the options, which stand before the command line's own, so that those win."""
    return [*_FOR_ALL, *(() if compiler_is_clang else _FOR_GCC)]


def checking() -> list[str]:
    """Return the options by which GCC reports each access to memory to the runtime, and names its line.

    The runtime answers the calls (`musart/engine/memcheck.cpp`); the sanitizers themselves are not linked.
    """
    parameters = ("asan-stack=0", "asan-globals=0", "asan-instrumentation-with-call-threshold=0")
    return [
        "-fsanitize=kernel-address",
        "-fsanitize=alignment",
        *(f"--param={parameter}" for parameter in parameters),
        "-g1",
    ]
