"""The one fixture for fresh interpreters, the simulator for everything else, and the markers' meaning.

The pytest process itself is redirected: torch is imported once, with torchada in force and torch_musa simulated (or real, under
--real-musa). What depends on import state runs in an interpreter of its own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

from support import platforms, slow_tail, vendor_python
from support.interpreter import FORK_SERVERS, Interpreter

# Here and not in pytest_configure: the conftest files of folders below import torch before that is called. The variable hands
# the option on to the workers of pytest-xdist.
if "--real-musa" in sys.argv:
    os.environ["REAL_MUSA"] = "1"
REAL_MUSA = "REAL_MUSA" in os.environ
for _argument in sys.argv:
    if _argument.startswith("--vendor-python="):
        _folder = vendor_python.make(Path(_argument.partition("=")[2]).resolve(), Path(tempfile.mkdtemp()))
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
        os.environ[vendor_python.VARIABLE] = str(_folder)
VENDOR_PYTHON = os.environ.get(vendor_python.VARIABLE)
if VENDOR_PYTHON:
    sys.path.insert(0, VENDOR_PYTHON)
    os.environ["MUSASIM_RELEASE"] = vendor_python.RELEASE
    vendor_python.provide_toolkit()
os.environ["TORCHADA_STRICT"] = "1"
# Workers share few cores, and threads of OpenMP that wait for one that has no core took three times the processor time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
PLATFORM = {} if REAL_MUSA else platforms.ENVIRONMENT[os.environ.get(platforms.VARIABLE, "musa")]
os.environ.update(PLATFORM)
# A change is judged by the same examples as the one before it; --hypothesis-profile=default looks for new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True)
hypothesis.settings.load_profile("repeatable")
import torchada  # noqa: E402, F401  (where no start-up file is in force, this puts the hook in)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--real-musa", action="store_true", help="run on the real torch_musa of this machine, not on the simulator"
    )
    parser.addoption(
        "--vendor-python",
        metavar="CHECKOUT",
        help="run on the Python part of this checkout of torch_musa, over the simulator's native part (--vendor-python=CHECKOUT)",
    )
    parser.addoption("--slow-tail", metavar="PLAN", help="what scripts/slow_tail.py has planned")


def pytest_configure(config: pytest.Config) -> None:
    slow_tail.register(config)
    if VENDOR_PYTHON:
        for warning in vendor_python.WARNINGS:
            config.addinivalue_line("filterwarnings", f"ignore:{warning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if any(item.get_closest_marker("cuda") for item in items) and not _has_nvidia_gpu():
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU"))


@pytest.fixture(scope="session", autouse=True)
def gpu_trace_stays_off() -> Iterator[None]:
    """torch.compile imports torch.cuda._sanitizer, which has PyTorch report whatever happens on a device until the process ends.

    The reports run Python in the middle of other tests, also where no callbacks are. What they say is tested in processes of their
    own.
    """
    if find_spec("torch") is None:
        yield
        return
    import torch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch._C, "_activate_gpu_trace", lambda: None)
        yield


def _has_nvidia_gpu() -> bool:
    return any(Path("/dev").glob("nvidia[0-9]*"))


@pytest.fixture(autouse=True)
def _default_streams() -> Iterator[None]:
    """Whatever stream of whatever device a test made current (a capture that fails leaves its own so), the next starts anew."""
    yield
    device = getattr(sys.modules.get("torch"), "musa", None)
    if device is not None and device.is_initialized():
        current = device.current_device()
        for index in range(device.device_count()):
            device.set_stream(device.default_stream(index))
        device.set_device(current)


@pytest.fixture(scope="session")
def inductor_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of Inductor's caches, for this process, what it starts and the other workers: a kernel is compiled once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "inductor"
    before = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["TORCHINDUCTOR_CACHE_DIR"]
    else:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = before


@pytest.fixture(scope="session", autouse=True)
def _fork_servers() -> Iterator[None]:
    """What tests have started with `forked=True` ends with the session."""
    yield
    FORK_SERVERS.close()


@pytest.fixture
def plain() -> Interpreter:
    """A fresh interpreter on a machine without accelerator: torchada installed, nothing asked of it."""
    return Interpreter()


@pytest.fixture
def musa(tmp_path: Path) -> Interpreter:
    """A fresh interpreter with a MUSA device, simulated unless --real-musa, in strict mode and in an empty folder."""
    env = {"TORCHADA_STRICT": "1", **PLATFORM}
    if "TORCHADA_NATIVE" in os.environ:
        env["TORCHADA_NATIVE"] = os.environ["TORCHADA_NATIVE"]
    if VENDOR_PYTHON:
        env["PYTHONPATH"] = vendor_python.path_with(VENDOR_PYTHON, os.environ.get("PYTHONPATH"))
    return Interpreter(env=env, cwd=tmp_path)
