"""docs/reference/tools.md: what the rows show under both mechanisms, and what the program written for musa shows.

`PYTHONPATH=tests python -m support.tools.page` runs all rows three times at once, each in an interpreter of its own, and writes the
page.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from support import vendor_python
from support.tools.rows import PROGRAMS, Row, rows, spelled

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "reference" / "tools.md"
TORCH, TORCH_MUSA = "2.13", "2.11.0"

# Runs the rows as a program for musa, without torchada.
WITHOUT_US = """
import runpy, sys
try:
    import musasim; musasim.install()
except ImportError:
    pass
import torch, torch_musa
sys.argv = sys.argv[1:]
sys.path.insert(0, {folder!r})
runpy.run_path(sys.argv[0], run_name="__main__")
"""

_BY_VALUE = "the name is a value of the program by then, and torch's own parser reads it"
REASONS = {
    "values.signatures_of_c_functions": "plain functions stand in their place, and show `(*args, device=None, **kwargs)`",
    "torchscript.script_factory_by_variable": _BY_VALUE,
    "torchscript.script_argument_by_name": _BY_VALUE,
    "torchscript.script_default_name": _BY_VALUE,
    "torchscript.script_modules_by_name": _BY_VALUE,
    "torchscript.script_compile_unit": "torch parses this source itself, and no Python sees it",
}

_INTRO = f"""# Tools: code that is traced, compiled, scripted, exported and pickled

Each row is a function of a program in `tests/support/tools/programs`, written for CUDA. It was run on torch {TORCH} and the
simulated torch_musa {TORCH_MUSA}: under the **native** mechanism, under the **portable** one, and, for comparison, as the same text
with "musa" in the place of "cuda", **without torchada**. "yes" means that what the row asserts is true. This includes that compiled
or scripted code gives the result of eager code, and that the result is that of the program for musa.

`PYTHONPATH=tests python -m support.tools.page` makes this page, and
`tests/areas/compiler/test_tools.py` checks every row of it.

For every function that torchada replaces, `tests/areas/compiler/test_compiled_patches.py` compares compiled code with eager code,
too. Two things are known to go wrong there, and come from torch.compile. Under the backend `aot_eager`, a graph that says "cuda"
runs after `with torch.cuda.device(1)` has ended, and makes its tensors on the device that is current then (`eager` and `inductor`,
the default, make them where eager code does). And it forgets a default dtype that was set by `torch.set_default_tensor_type`
inside.
"""

# What each test shows.
ELSEWHERE = {
    "tests/areas/tensors/test_device.py::test_a_pickled_device_is_readable_on_a_cuda_machine": (
        "devices and their pickles read by a process without torchada"
    ),
    "tests/areas/tensors/test_serialization.py::test_save_here_read_on_another_machine": (
        "checkpoints read on another machine"
    ),
    "tests/areas/precision/test_amp.py::test_the_names_are_one_class": (
        "`torch.autocast(...)` as a decorator, its names one class"
    ),
    "tests/areas/compiler/test_torchscript.py::test_jit_load_with_map_location": (
        "`torch.jit.load` with every `map_location`"
    ),
    "tests/areas/compiler/test_torchscript.py::test_scripted_classes_see_what_surrounds_them": (
        "scripted classes inside of a function"
    ),
    "tests/areas/compiler/test_dynamo.py::test_redirection_that_comes_after_the_compiler": (
        "redirection that comes after the compiler"
    ),
    "tests/redirect/test_entry_point_proxy.py": "proxies that dynamo, pickle and copy take for the function",
    "tests/areas/dispatch/test_library.py": "`torch.library`: operators, fakes, autograd, `opcheck`",
    "tests/areas/tensors/test_checkpoint.py": "`torch.utils.checkpoint`: dropout, autocast, both modes",
    "tests/areas/precision/test_optimizers.py": "optimizers, every one, `foreach`, `fused`, `capturable`",
    "tests/areas/tensors/test_modules.py::test_parameters_and_tied_weights_stay_the_same_objects": (
        "parameters stay the objects they are"
    ),
    "tests/areas/tensors/test_processes.py::test_a_device_goes_to_a_spawned_process": "devices in spawned processes",
    "tests/areas/tensors/test_modules.py::test_parameters_stay_where_the_tensor_itself_is_held": (
        "weak references, tied weights and graphs in `Module.cuda()`"
    ),
}


class Line(NamedTuple):
    """One row of the page."""

    id: str
    text: str
    native: str
    portable: str
    musa: str
    reason: str


def lines(page: str) -> dict[str, Line]:
    """The rows that a page shows, by id."""
    found = (re.split(r"(?<!\\)\|", line)[1:-1] for line in page.splitlines() if line.startswith("| `"))
    made = (
        Line(cells[0].strip(" `"), *map(str.strip, cells[1:])) for cells in found if len(cells) == len(Line._fields)
    )
    return {line.id: line for line in made}


def run(device_type: str, folder: Path, **environment: str) -> dict[str, Any]:
    """The answers of all rows in a fresh interpreter; for "musa" one without torchada."""
    here = Path(__file__).resolve().parent
    arguments = [str(here / "rows.py"), device_type, str(folder)]
    if device_type == "musa":
        arguments = ["-c", WITHOUT_US.format(folder=str(here)), *arguments]
        environment["TORCHADA_DISABLE"] = "1"
    environment = {"TORCHADA_SIMULATE": "1", "TORCHADA_STRICT": "1", **environment}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCHADA_")}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=vendor_python.completed({**kept, **environment}),
        capture_output=True,
        text=True,
        timeout=3600,
    )
    if done.returncode:
        raise RuntimeError(f"the rows for {device_type} did not run:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def result(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """ "yes" or "no": whether a row succeeded, with the answer of the program for musa where that has one.

    A program for CUDA is told of devices in CUDA's words, and torch says some texts in the backend's to everybody.
    """
    if "error" in found:
        return "no"
    return "no" if "answer" in expected and _for_musa(found) != _for_musa(expected) else "yes"


def _for_musa(found: Mapping[str, Any]) -> str:
    return spelled(json.dumps(found["answer"]), "musa")


def page(native: dict[str, Any], portable: dict[str, Any], musa: dict[str, Any]) -> str:
    texts = {row.id: text for row, text in described()}
    made = [
        Line(
            each,
            texts[each],
            result(native[each], musa[each]),
            result(portable[each], musa[each]),
            result(musa[each], {}),
            "",
        )
        for each in texts
    ]
    return "\n".join([_INTRO, *_totals(made), *_sections(made), *_elsewhere()]) + "\n"


def described() -> Iterator[tuple[Row, str]]:
    """Every row with what its docstring says."""
    for row in rows():
        yield row, _docstrings(row.program)[row.name].replace("|", "\\|")


@cache
def _docstrings(program: str) -> dict[str, str]:
    body = ast.parse((PROGRAMS / f"{program}.py").read_text()).body
    return {each.name: ast.get_docstring(each) or "" for each in body if isinstance(each, ast.FunctionDef)}


def _totals(made: list[Line]) -> Iterator[str]:
    yield "| rows | native | portable | program for musa |\n|---|---|---|---|"
    yield f"| {len(made)} | " + " | ".join(str(sum(line[at] == "yes" for line in made)) for at in (2, 3, 4)) + " |"


def _sections(made: list[Line]) -> Iterator[str]:
    for path in sorted(PROGRAMS.glob("*.py")):
        yield f"\n## {(ast.get_docstring(ast.parse(path.read_text())) or '').rstrip('.')}\n"
        yield "| row | what | native | portable | for musa | why not |\n|---|---|---|---|---|---|"
        for line in (line for line in made if line.id.startswith(f"{path.stem}.")):
            reason = REASONS.get(line.id, "")
            yield f"| `{line.id}` | {line.text} | {line.native} | {line.portable} | {line.musa} | {reason} |"


def _elsewhere() -> Iterator[str]:
    yield "\n## Shown by other tests\n\n| what | test |\n|---|---|"
    yield from (f"| {what} | `{test}` |" for test, what in ELSEWHERE.items())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        places = {each: Path(name, each) for each in ("native", "portable", "musa")}
        for place in places.values():
            place.mkdir()
        with ThreadPoolExecutor() as pool:
            native = pool.submit(run, "cuda", places["native"], TORCHADA_NATIVE="1")
            portable = pool.submit(run, "cuda", places["portable"], TORCHADA_NATIVE="0")
            musa = pool.submit(run, "musa", places["musa"])
        PAGE.write_text(page(native.result(), portable.result(), musa.result()))
