"""Runs that several tests compare with: each is made once, whichever worker of pytest-xdist comes first."""

from __future__ import annotations

import fcntl
import os
import pickle
from pathlib import Path

import pytest

from support.launch import EPOCHS, EXAMPLES, Outcome, Reference, python, torchrun


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "distributed" in item.path.parts:
            item.add_marker(pytest.mark.musa)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """reference("ddp", ranks): what docs/examples/train_ddp.py prints on so many ranks undisturbed, and its folder. One rank means
    no torchrun."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "distributed"
    shared.mkdir(exist_ok=True)

    def made(kind: str, ranks: int) -> tuple[Outcome, Path]:
        folder = shared / f"{kind}-{ranks}"
        with open(f"{folder}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                folder.mkdir()
                command = (EXAMPLES / f"train_{kind}.py", "--epochs", EPOCHS)
                done = python(*command, folder=folder) if ranks == 1 else torchrun(*command, folder=folder, ranks=ranks)
                (folder / "outcome").write_bytes(pickle.dumps(done))
        return pickle.loads((folder / "outcome").read_bytes()).must_succeed(), folder

    return made
