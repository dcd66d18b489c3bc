"""The porter reads whatever a tree holds, and executes nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter
from torchada.porting.workers import ENOUGH_BYTES

pytestmark = pytest.mark.once

STANDARD = ("pickle", "dataclasses", "re", "torchada", "sitecustomize", "usercustomize")


@pytest.mark.parametrize("on_the_path", [False, True], ids=["current folder", "PYTHONPATH"])
def test_port_executes_no_module_of_the_tree(plain: Interpreter, tmp_path: Path, on_the_path: bool) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in STANDARD:
        (tree / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write({name!r})\n")
    source = "cudaStream_t stream;\n" * (ENOUGH_BYTES // 40)
    for index in range(4):
        (tree / f"kernel{index}.cu").write_text(source)
    # Of our own process, the user decides what it finds first; what it starts is ours to isolate.
    helpers = {"PYTHONPATH": str(tree)} if on_the_path else {}
    plain.cwd = tree
    command = ["import os, sys; sys.path[:] = [p for p in sys.path if p not in ('', os.getcwd())]"]
    command += [f"os.environ.update({helpers!r})", "from torchada.cli import main"]
    command += [f"sys.exit(main(['port', '.', '-o', {str(tmp_path / 'out')!r}, '--jobs', '2']))"]
    plain.run(["-P", "-c", "; ".join(command)] if _knows_safe_path() else ["-I", "-c", "; ".join(command)])
    assert "musaStream_t" in (tmp_path / "out" / "kernel0.mu").read_text()
    assert not (tmp_path / "executed").exists()


def _knows_safe_path() -> bool:
    import sys

    return sys.version_info >= (3, 11)
