"""The programs of this folder, their rows, and the answer of each row.

A row is a public function of a file in `programs`, written for CUDA: it uses one feature of a tool, checks what any device must
give, and returns what it saw. The same text with "musa" in place of "cuda" is the program written for the device itself, with which
a row is compared.

`python rows.py cuda|musa` prints the answers of all rows as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).resolve().parent / "programs"


class Row(NamedTuple):
    """One function of one program: `values.copies`."""

    program: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.program}.{self.name}"


def spelled(text: str, device_type: str) -> str:
    """A text about CUDA, rewritten for `device_type`."""
    return text.replace("cuda", device_type).replace("CUDA", device_type.upper())


@cache
def program(name: str, device_type: str, folder: Path) -> ModuleType:
    """The module of a program, rewritten for a device. TorchScript reads sources, so the text has to be in a file."""
    module_name = f"{name}_for_{device_type}"
    path = folder / f"{module_name}.py"
    path.write_text(spelled((PROGRAMS / f"{name}.py").read_text(), device_type))
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # pickle, data classes and TorchScript look there
    spec.loader.exec_module(module)
    return module


def rows() -> Iterator[Row]:
    """Every row, in the order of the files."""
    for path in sorted(PROGRAMS.glob("*.py")):
        for line in path.read_text().splitlines():
            if line.startswith("def ") and not line.startswith("def _"):
                yield Row(path.stem, line[4:].partition("(")[0])


def answer(row: Row, device_type: str, folder: Path) -> Any:
    """The answer of the row for this device type, as JSON represents it."""
    import torch

    function: Callable[[], Any] = getattr(program(row.program, device_type, folder), spelled(row.name, device_type))
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    torch.manual_seed(0)
    try:
        return json.loads(json.dumps(_simple(function())))
    finally:
        if device_type != "cpu":
            getattr(torch, device_type).set_device(0)
        torch.set_default_device(None)


def _simple(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _simple(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [_simple(each) for each in value]
    return str(value)


def answers(device_type: str, folder: Path) -> dict[str, Any]:
    """By row, `{"answer": ...}`, or `{"error": "text"}` where it fails."""
    found: dict[str, Any] = {}
    for row in rows():
        try:
            found[row.id] = {"answer": answer(row, device_type, folder)}
        except Exception as error:
            found[row.id] = {"error": f"{type(error).__name__}: {error}"}
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(answers(sys.argv[1], Path(sys.argv[2]))))
