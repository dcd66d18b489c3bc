"""pytest's plug-in: the tests of CUDA code on simulated GPUs, where `--cuda-simulated` asks for them. Otherwise it changes nothing.

pytest loads this module in every project of the environment, so it imports nothing but pytest. What is asked for is in the other
files of this subpackage.
"""

from __future__ import annotations

import pytest

#: The options of the command line, the settings of pytest's configuration file of the same names, and their help.
SIMULATED, MEMCHECK, STREAMCHECK = "cuda_simulated", "cuda_memcheck", "cuda_streamcheck"
SARIF, SEED, CAPABILITY = "cuda_sarif", "cuda_seed", "cuda_capability"
HELP = {
    SIMULATED: "run on N simulated GPUs (2 unless said otherwise), or `no`",
    MEMCHECK: "check each access of a kernel to memory, and fail the tests in which the checker finds a fault",
    STREAMCHECK: "check which work of streams nothing orders, and fail the tests that rely on an order",
    SARIF: "write what the checkers find into this file, as SARIF; without --cuda-streamcheck, it switches --cuda-memcheck on",
    SEED: "the order in which blocks of threads and work of streams run: a number, or `random`",
    CAPABILITY: "the compute capability of the simulated GPUs, such as 8.0",
}
MARKER = "requires_cuda"
_MEANING = f"{MARKER}(gpus=1): skipped where fewer CUDA devices are there, real or simulated (--cuda-simulated)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what the plug-in takes."""
    group = parser.getgroup("cuda", "CUDA without a GPU (torchada)")
    group.addoption("--cuda-simulated", dest=SIMULATED, nargs="?", const="", metavar="N", help=HELP[SIMULATED])
    group.addoption("--cuda-memcheck", dest=MEMCHECK, action="store_true", default=None, help=HELP[MEMCHECK])
    group.addoption("--cuda-streamcheck", dest=STREAMCHECK, action="store_true", default=None, help=HELP[STREAMCHECK])
    group.addoption("--cuda-sarif", dest=SARIF, metavar="FILE", help=HELP[SARIF])
    group.addoption("--cuda-seed", dest=SEED, metavar="N", help=HELP[SEED])
    group.addoption("--cuda-capability", dest=CAPABILITY, metavar="M.N", help=HELP[CAPABILITY])
    for name in (SIMULATED, SARIF, SEED, CAPABILITY):
        parser.addini(name, HELP[name], default="")
    for name in (MEMCHECK, STREAMCHECK):
        parser.addini(name, HELP[name], type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Start the simulator before a conftest.py imports torch."""
    given = early_config.known_args_namespace
    is_asked = any(getattr(given, name) is not None for name in HELP) or early_config.getini(SIMULATED)
    if not is_asked or given.help or given.version:
        return
    from torchada.pytest_plugin import request, run

    asked = request.read(early_config, parser, args)
    if asked is not None:
        run.begin(early_config, asked)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, unless the project has one of this name."""
    declared = (line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers"))
    if MARKER not in declared:
        config.addinivalue_line("markers", _MEANING)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that requires more devices than are there."""
    marker = item.get_closest_marker(MARKER)
    if marker is not None and _MEANING in item.config.getini("markers"):
        from torchada.pytest_plugin import marker as requires_cuda

        requires_cuda.check(*marker.args, **marker.kwargs)
