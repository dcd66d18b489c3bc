"""What of CUDA installed packages use that a project calls: each function and class that a call reaches is judged, and no other.

A call is followed through the package's own functions and classes, as far as their names say where they lead; methods count with
their class. Nothing is imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import lru_cache

from torchada.report.severity import ERROR, WARNING
from torchada.tools.check import called, decode, nvidia, python_sources
from torchada.tools.check.apis import table
from torchada.tools.check.classify import Source, Verdicts
from torchada.tools.check.collect import PYTHON, File
from torchada.tools.check.findings import (
    API,
    CAPABILITY,
    DEPENDENCY,
    KERNEL,
    OPERATOR,
    OTHERS,
    PROGRAM,
    Finding,
    beginning,
)
from torchada.tools.check.packages import Definition, Module, Packages
from torchada.tools.check.resolve import Reader
from torchada.tools.check.whole_project import WholeProject

MOST_REACHED = 400  # functions and classes that one call is followed to
_RULES = (API, CAPABILITY, OPERATOR, OTHERS, PROGRAM, KERNEL)
# Their names are in the tables, or they are the simulator's and ours.
_KNOWN = frozenset({"torch", "torchada", "torch_musa", "torch_host", "torch_battery", "musasim", "numpy", "triton"})
Reached = tuple[Module, Definition]


class Dependencies:
    """The packages of this environment, judged through what a project calls of them. A fault in one is told once."""

    def __init__(self, path: list[str] | None = None) -> None:
        self._packages = Packages(sys.path if path is None else path)
        self._told: set[tuple[str, int, str]] = set()
        self._reached: dict[int, list[Reached]] = {}

    def findings(self, file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
        """What the calls in one source of the project lead to."""
        code = decode.decode(data).text
        tree, _ = decode.parse(code) if file.kind == PYTHON else (None, "")
        if tree is None:
            return
        lines = code.split("\n")
        for path, node in called.uses(tree, lambda top: self._is_other(top, project)).items():
            line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
            here = Finding(
                DEPENDENCY, WARNING, "", "", file.path, line, column, column + 1, source=beginning(lines[line - 1])
            )
            for place, finding in self._faults(path, project.release):
                yield here._replace(name=finding.name, message=f"{path} leads to {place}: {finding.message}")

    def _is_other(self, top: str, project: WholeProject) -> bool:
        is_known = top in _KNOWN or top in nvidia.PACKAGES or top in sys.stdlib_module_names
        return not is_known and top not in project.modules

    def _faults(self, path: str, release: str) -> Iterator[tuple[str, Finding]]:
        """What is to be looked at in all that a name reaches, with its place, unless it has been told."""
        for module, node in self._all_reached(path):
            for finding in _judged(module, release):
                key = (module.path, finding.line, finding.name)
                if node.lineno <= finding.line <= (node.end_lineno or 0) and key not in self._told:
                    self._told.add(key)
                    yield f"{module.path}:{finding.line}", finding

    def _all_reached(self, path: str) -> list[Reached]:
        first = self._packages.lead(path)
        pending, seen = [first] if first is not None else [], set()
        reached: list[Reached] = []
        while pending and len(reached) < MOST_REACHED:
            module, node = pending.pop()
            if id(node) not in seen:
                seen.add(id(node))
                reached.append((module, node))
                pending += self._from(module, node)
        return reached

    def _from(self, module: Module, node: Definition) -> list[Reached]:
        """What the names in a function or class lead to, within its package."""
        if id(node) not in self._reached:
            leads = map(self._packages.lead, dict.fromkeys(_names(module, node)))
            self._reached[id(node)] = [reached for reached in leads if reached is not None]
        return self._reached[id(node)]


def _names(module: Module, node: Definition) -> Iterator[str]:
    """The dotted names in a function or class that lead into its own package."""
    top = module.name.partition(".")[0]
    bound = {**module.imported, **dict(module.bound_by(ast.walk(node)))}
    for part in ast.walk(node):
        if not isinstance(part, (ast.Name, ast.Attribute)):
            continue
        base, _, rest = ast.unparse(part).partition(".") if _is_chain(part) else ("", "", "")
        path = f"{module.name}.{base}" if base in module.defined else bound.get(base, "")
        if path.partition(".")[0] == top:
            yield f"{path}.{rest}" if rest else path


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


@lru_cache(maxsize=256)
def _judged(module: Module, release: str) -> list[Finding]:
    """What does not work in a module on a release of torch_musa, or is to be looked at."""
    if not python_sources.may_name_cuda("\n".join(module.lines).encode("utf-8", "surrogatepass")):
        return []
    verdicts = Verdicts(Source(module.path, module.lines, True, "", table(release)))
    try:
        verdicts.module(module.tree)
        Reader(verdicts).read(module.tree)
    except RecursionError:
        return []
    return [finding for finding in verdicts.findings if finding.rule in _RULES and finding.severity in (ERROR, WARNING)]
