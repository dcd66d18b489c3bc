"""What the simulator does after the import of a module of torch, also where another thread is in the middle of that import."""

from __future__ import annotations

import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = [pytest.mark.musa, pytest.mark.once]


def test_a_module_that_another_thread_executes_is_waited_for(
    torch_musa: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late_import = import_module("torch_musa._vendor_torch.late_import")
    signals: Any = ModuleType("signals_of_the_test")
    signals.begun, signals.go = threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, signals.__name__, signals)
    (tmp_path / "half_executed.py").write_text(
        f"import {signals.__name__} as signals\nsignals.begun.set()\nsignals.go.wait(60)\nvalue = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importing = threading.Thread(target=import_module, args=("half_executed",))
    importing.start()
    signals.begun.wait(60)
    values: list[int] = []
    late_import.after_import("half_executed", lambda module: values.append(module.value))
    assert values == []
    signals.go.set()
    importing.join()
    deadline = time.monotonic() + 60
    while not values and time.monotonic() < deadline:
        time.sleep(0.01)
    assert values == [1]
    del sys.modules["half_executed"]
