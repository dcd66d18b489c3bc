"""The suites: which files they have, and what their tests need to find."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Tests import `outside` and `support` from here.
TESTS = HERE.parent


@dataclass(frozen=True)
class Suite:
    """Tests of others. `files` are patterns below the checkout's `root`."""

    name: str
    root: str
    files: tuple[str, ...]
    #: Modules of `outside.harness` that are loaded before the tests are.
    harness: str
    #: More arguments of pytest.
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def paths(self, checkout: Path) -> list[Path]:
        """The files of the suite, or an error that says what is missing."""
        root = checkout / self.root
        found = sorted({path for pattern in self.files for path in root.glob(pattern)})
        if not found:
            raise SystemExit(
                f"{checkout} has no {self.root}/{self.files[0]}: is it a checkout for the suite {self.name}?"
            )
        return found

    def environment(self, checkout: Path) -> dict[str, str]:
        """What a process of the suite has in its environment."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHADA_", "OUTSIDE_"))}
        path = [
            str(TESTS),
            str(TESTS.parent / "src"),
            *_startup(),
            str(checkout / self.root),
            mine.get("PYTHONPATH", ""),
        ]
        return {
            **mine,
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OUTSIDE_CHECKOUT": str(checkout),
            "OUTSIDE_HARNESS": self.harness,
            **self.env,
        }


def _startup() -> list[str]:
    """The folder by which processes that tests start are redirected, where torchada is not installed."""
    from torchada.hooks import startup_files

    folder = startup_files.sitecustomize_folder()
    return [] if startup_files.in_force() is not None or folder is None else [str(folder)]


_PLAIN = {"TORCHADA_DISABLE": "1"}


def _pytorch(name: str, *files: str, harness: str = "torchada") -> Suite:
    # PyTorch's own conftest.py is for the pytest of its time.
    env = {"TORCHADA_SIMULATE": "1", "TORCHADA_FORCE_CUDA_AVAILABLE": "1"}
    return Suite(name, "test", files, harness, ("--noconftest",), env)


SUITES = {
    suite.name: suite
    for suite in (
        Suite("torch-musa", "tests/unittest", ("*/**/test_*.py",), "vendor", env=_PLAIN),
        _pytorch("test-cuda", "test_cuda.py"),
        _pytorch("test-cuda-trace", "test_cuda_trace.py", "test_cuda_sanitizer.py"),
        _pytorch("test-cuda-context", "test_cuda_primary_ctx.py", "test_cuda_nvml_based_avail.py"),
        _pytorch("test-autocast", "test_autocast.py"),
        _pytorch("test-cuda-multigpu", "test_cuda_multigpu.py"),
        _pytorch("test-data", "test_dataloader.py", "test_serialization.py", harness="torchada_cuda_only"),
        Suite("torchada-0.1", "tests", ("test_*.py",), "earlier", env={"TORCHADA_SIMULATE": "1"}),
        _pytorch("test-multiprocessing", "test_multiprocessing.py", harness="torchada_cuda_only"),
    )
}
