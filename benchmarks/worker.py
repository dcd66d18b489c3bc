"""One process of a benchmark: it loads torch in one of three ways, and then times statements, one per line of JSON.

Started as `python -S worker.py`, so that no start-up file decides what is loaded. The first line on standard input is the
`Plan`; each later one is [statement, number of repetitions], answered with the nanoseconds of one repetition, or [expression],
answered with its repr. Where that fails, the answer is the reason.
"""

from __future__ import annotations

import json
import os
import sys
import time
import timeit
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO

KINDS = ("torchada", "native", "0.1.103")


@dataclass(frozen=True)
class Plan:
    """What to load and from where: `path` becomes sys.path, `simulated` asks for the simulator in place of torch_musa."""

    kind: str
    path: list[str]
    simulated: bool
    setup: str


class SimulatorFinder:
    """Lets `import torch_musa` find the simulator where torchada's own hook is not in force."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        if name != "torch_musa":
            return None
        return import_module("musasim.finder").find_spec(name)


def load(plan: Plan) -> dict[str, Any]:
    """Import what the plan names; returns the namespace in which statements run."""
    sys.path[:] = plan.path
    warnings.simplefilter("ignore")
    if plan.kind == "torchada":
        os.environ["TORCHADA_SIMULATE"] = "1" if plan.simulated else "0"
        import torchada
    elif plan.simulated:
        sys.meta_path.append(SimulatorFinder())
    import torch

    if plan.kind != "torchada":
        import_module("torch_musa")
    if plan.kind == "0.1.103":
        import_module("torchada")
    namespace: dict[str, Any] = {}
    exec(plan.setup, namespace)
    versions = {"python": sys.version.split()[0], "torch": torch.__version__, "torch_musa": _adapter_version()}
    if plan.kind == "torchada":
        versions["torchada"] = torchada.__version__
        versions["device strings"] = _mechanism()
    return {**namespace, "_versions": versions}


def _adapter_version() -> str:
    module = sys.modules["torch_musa"]
    return f"{module.__version__}{' (simulated)' if getattr(module, '__simulated__', False) else ''}"


def _mechanism() -> str:
    from torchada.control import status

    mechanism: str = status.report()["device_strings"]["mechanism"]
    return mechanism


def measure(statement: str, number: int, namespace: dict[str, Any]) -> float:
    """Nanoseconds of one repetition, of processor time: what else the machine runs is not counted. The collector is off."""
    return timeit.timeit(statement, timer=time.process_time, number=number, globals=namespace) / number * 1e9


def serve(requests: TextIO, answers: TextIO) -> None:
    namespace = load(Plan(**json.loads(requests.readline())))
    _answer(answers, namespace["_versions"])
    for line in requests:
        try:
            _answer(answers, _reply(json.loads(line), namespace))
        except Exception as error:
            _answer(answers, {"error": f"{type(error).__name__}: {error}"})


def _reply(request: list[Any], namespace: dict[str, Any]) -> dict[str, float | str]:
    if len(request) == 1:
        return {"value": repr(eval(request[0], namespace))}
    return {"ns": measure(request[0], request[1], namespace)}


def _answer(answers: TextIO, value: object) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


if __name__ == "__main__":
    # Whatever the libraries print goes to stderr; only answers go to standard output.
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, own)
