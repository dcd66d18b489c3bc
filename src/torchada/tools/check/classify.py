"""What the uses that a reader tells of mean: each becomes a finding, or nothing where it has nothing to do with CUDA."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from torchada.report.answers import ADAPTED, MEANINGS, OWN, SEVERITIES, UNKNOWN
from torchada.report.severity import ERROR, NOTE, OK, WARNING
from torchada.tools.check import capabilities, models, nvidia, optional_imports, variables, vendor_operators
from torchada.tools.check.apis import Answer, Table
from torchada.tools.check.device_strings import (
    DEVICE_NAME,
    chosen,
    defaults,
    is_choice,
    is_device,
    others,
    text_of,
)
from torchada.tools.check.findings import (
    API,
    DEVICE,
    IMPORT,
    KERNEL,
    OTHERS,
    PROGRAM,
    QUESTION,
    REQUIREMENT,
    Finding,
    beginning,
)
from torchada.tools.check.scopes import Paths

_OF_CUDA = re.compile(r"cuda|cudnn|nccl|gpu|tf32|matmul_precision|cpp_extension", re.IGNORECASE)
_NCCL = re.compile(r"(?:cpu:gloo,)?(?:cuda:)?nccl")  # as process groups are asked for
_LEGACY = re.compile(r"torch\.cuda\.(?:sparse\.)?\w+Tensor")
# Questions that are answered by who asks (docs/explanation/views.md).
QUESTIONS = frozenset(
    {
        "torch.backends.cuda.is_built",
        "torch.backends.cudnn.is_available",
        "torch.backends.cudnn.version",
        "torch.cuda.is_available",
        "torch.version.cuda",
    }
)
_OF_A_DEVICE = re.compile(r"(?:\.|^)(?:type|device_?type|dev_type)$")
# Calls whose positional strings are no devices: parts of paths, texts, names of options and attributes. Keywords may be devices.
_NOT_DEVICES = frozenset(
    {
        "join",
        "print",
        "replace",
        "split",
        "glob",
        "Path",
        "exists",
        "isdir",
        "find",
        "count",
        "isfile",
        "joinpath",
        "listdir",
    }
    | {
        "info",
        "debug",
        "warning",
        "error",
        "log",
        "index",
        "add_argument",
        "add_parser",
        "option",
        "endswith",
        "import_module",
        "_apply",
    }
    | {
        "mark",
        "register_module",
        "add_module",
        "strip",
        "lstrip",
        "removeprefix",
        "rmtree",
        "makedirs",
        "open",
        "which",
    }
    | {"requires", "skipif", "TypeVar", "encode"}
)
# Calls with a key or a name among their arguments, and its place; what follows it is a value.
_KEYS = {
    "get": 0,
    "getenv": 0,
    "pop": 0,
    "setdefault": 0,
    "setenv": 0,
    "getattr": 1,
    "hasattr": 1,
    "setattr": 1,
    "delattr": 1,
}
_STARTING = frozenset({"subprocess", "os"})
_INSTALLING = frozenset({"check_requirements", "check_requirement", "install_package"})
_KERNELS = frozenset({"triton.jit", "triton.runtime.jit.jit", "triton.autotune", "triton.heuristics"})
_OF_KERNELS = frozenset({"triton"})  # its kernels are found one by one
_ASSEMBLER = "triton.language.inline_asm_elementwise"


class Source(NamedTuple):
    """A Python source: its path, its lines, and whether its package sees CUDA, with the reason.

    `packages` are the project's own. `line_of` is where a line stands in the file.
    """

    file: str
    lines: Sequence[str]
    sees_cuda: bool
    why: str
    table: Table
    packages: frozenset[str] = frozenset()
    line_of: Callable[[int], int] = lambda line: line

    @property
    def view(self) -> str:
        return "cuda" if self.sees_cuda else "musa"

    @property
    def asked(self) -> str:
        """What is to be said about a question in it."""
        answer = "the answer is CUDA's" if self.sees_cuda else "the answer is the backend's, not CUDA's"
        return f"{answer}, because of who asks: {self.why}"


class Verdicts:
    """The judge of one source; `findings` is what it found, each place once."""

    def __init__(self, source: Source) -> None:
        self._source, self._table = source, source.table
        self._tree = ast.Module([], [])
        self._by_place: dict[tuple[int, int, str], Finding] = {}
        self._settled: set[int] = set()
        self._imports: dict[str, ast.stmt] = {}
        self._used: set[str] = set()
        self._projects_own: set[str] = set()  # attributes that the source sets itself, before or after it reads them
        self._attributes: list[tuple[ast.Attribute, Answer, str]] = []

    @property
    def findings(self) -> list[Finding]:
        """In the order of the source. What is imported and not used by that name counts where it is imported."""
        used = sorted(self._used)
        for path, node in self._imports.items():
            if not (_begins_with(used, path, "") or _begins_with(used, path, ".")):
                self._api(node, path)
        for attribute, answer, place in self._attributes:
            if place not in self._projects_own:
                self._answer(attribute, answer, question=attribute.attr == "is_cuda")
        return sorted(self._by_place.values(), key=lambda finding: (finding.line, finding.column))

    @cached_property
    def _optional(self) -> frozenset[int]:
        return optional_imports.optional(self._tree)

    @cached_property
    def _functions(self) -> list[tuple[int, int]]:
        """The first and last lines of functions: what they ask for is needed only where they are called."""
        nodes = (node for node in ast.walk(self._tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        return [(node.lineno, node.end_lineno or node.lineno) for node in nodes]

    # What a reader tells

    def imported(self, node: ast.stmt, path: str) -> None:
        need = nvidia.of_module(path) if path[:1] != "." else None
        top = path.partition(".")[0]
        if need is not None and top not in self._source.packages and top not in _OF_KERNELS:
            name = next((module for module in nvidia.MODULES if path.startswith(module)), top)
            self._add(node, self._import(node, name, need))
        elif path.startswith("torch.") and isinstance(node, ast.ImportFrom):
            self._imports.setdefault(path, node)

    def name(self, node: ast.expr, paths: Paths) -> None:
        self._used |= paths
        for path in sorted(paths):
            self._of_others(node, path)
            if path.startswith("torch.") and self._api(node, path):
                return
            if path.startswith(("triton.language.", "tl.extra.cuda")):
                self._of_triton(node, path)
        if isinstance(node, ast.Attribute) and all(path.startswith(".") for path in paths):
            self.attribute(node)

    def attribute(self, node: ast.Attribute) -> None:
        answer = self._table.attributes.get(node.attr)
        if answer is None or node.attr == "cuda":
            return
        place = ast.unparse(node)
        if isinstance(node.ctx, ast.Store):
            self._projects_own.add(place)  # self.is_cuda = ...: no tensor lets itself be told where it is
        else:
            self._attributes.append((node, answer, place))

    def call(self, node: ast.Call, paths: Paths) -> None:
        function = node.func
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if called == "cuda" and isinstance(function, ast.Attribute) and not self._is_of_others(paths):
            self._answer(function, self._table.names.get("Tensor.cuda") or self._table.attributes["cuda"])
        if called == "startswith" and node.args and is_device(node.args[0]) and isinstance(function, ast.Attribute):
            self._settle(node.args[0])
            if _is_of_a_device(function.value):
                self._question(node, f'{_shown(function.value)}.startswith("cuda")')
        for argument in (
            node.args
            if called in _NOT_DEVICES or called.endswith("_attr")
            else node.args[_KEYS[called] :][:1]
            if called in _KEYS
            else ()
        ):
            self._settle(argument)
        if called in _KEYS and len(node.args) > _KEYS[called] + 1:
            key, value = node.args[_KEYS[called]], node.args[_KEYS[called] + 1]
            if is_choice(text_of(key), value):
                self._settle(value)
        for keyword in node.keywords:
            if is_choice(keyword.arg or "", keyword.value):
                self._settle(keyword.value)
        if called == "parametrize" and len(node.args) > 1:
            for value in chosen(*node.args[:2]):
                self._settle(value)
        self._operators(node, paths, called)
        self._arguments(node, paths, called)
        if any(path.partition(".")[0] in _STARTING for path in paths) or called in ("which", "check_output", "Popen"):
            self._programs(node)

    def compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for side in sides:
            for element in getattr(side, "elts", [side]):
                if _NCCL.fullmatch(text_of(element)):
                    self._settle(element)
        devices = [side for side in sides if _holds_device(side)]
        if not devices:
            return
        asked = next((side for side in sides if side not in devices), None)
        for side in devices:
            self._settle(side)
        if asked is not None and _is_of_a_device(asked):
            shown, operator = [_shown(asked), '"cuda"'], _operator(node)
            if asked is not node.left and operator in ("in", "not in"):
                shown.reverse()
            self._question(node, f" {operator} ".join(shown))

    def text(self, node: ast.Constant | ast.JoinedStr) -> None:
        if id(node) in self._settled:
            return
        value = text_of(node)
        if value in nvidia.PROVIDERS:
            self._add(node, Finding(OTHERS, WARNING, value, nvidia.PROVIDERS[value], ""))
        if DEVICE_NAME.fullmatch(value):
            self._answer(node, self._table.device._replace(api='"cuda"'), rule=DEVICE)
        elif _NCCL.fullmatch(value):
            self._answer(
                node, self._table.names["torch.distributed.ProcessGroupNCCL"]._replace(api='"nccl"'), rule=DEVICE
            )
        elif _LEGACY.fullmatch(value):
            self._api(node, value)

    def module(self, tree: ast.Module) -> None:
        """Look at a module as a whole, before it is read."""
        self._tree = tree
        for look in (capabilities.comparisons, variables.uses, models.stated):
            for node, finding in look(tree, self._source.lines):
                self._add(node, finding)
        if any("cuda" in line or "nccl" in line for line in self._source.lines):
            for expression in others(tree):
                self._settle(expression)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, decorators: Sequence[Paths]) -> None:
        if any(paths & _KERNELS for paths in decorators):
            need = nvidia.PACKAGES["triton"]
            kernel = Finding(KERNEL, need.severity, node.name, f"compiled by Triton: {need.advice}", "")
            self._add(node, kernel)
        for name, default in defaults(node.args):
            if is_choice(name, default):
                self._settle(default)

    def is_listed(self, module: str, name: str) -> bool:
        path = f"{module}.{name}"
        return path in self._table.names or any(listed.startswith(f"{path}.") for listed in self._table.names)

    # What it means

    def _api(self, node: ast.AST, path: str) -> bool:
        """A finding for the API at a path, if CUDA has it."""
        answer = self._table.find(path)
        if answer is None or (answer.kind == OWN and path in self._table.modules):
            return False
        if SEVERITIES[answer.kind] == OK and not _OF_CUDA.search(path):
            return False  # it works, and is no API of CUDA's by its name
        if answer.kind == UNKNOWN and path.rpartition(".")[2].startswith("__"):
            return False
        self._answer(node, answer, question=answer.api in QUESTIONS)
        return True

    def _answer(self, node: ast.AST, answer: Answer, question: bool = False, rule: str = API) -> None:
        message = MEANINGS[answer.kind] + (f": {answer.why}" if answer.why else f": {answer.to}" if answer.to else "")
        severity = SEVERITIES[answer.kind]
        if question:
            message, rule, severity = self._source.asked, QUESTION, NOTE
        view = self._source.view if question else ""
        self._add(node, Finding(rule, severity, answer.api, message, "", kind=answer.kind, to=answer.to, view=view))

    def _question(self, node: ast.expr, name: str) -> None:
        self._add(node, Finding(QUESTION, NOTE, name, self._source.asked, "", kind="adapted", view=self._source.view))

    def _arguments(self, node: ast.Call, paths: Paths, called: str) -> None:
        """A call that names a device belongs to the function that is called, where the table has it with a device."""
        if called in _NOT_DEVICES or called in _KEYS:
            return
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg)]
        named = [argument for argument in given if is_device(argument)]
        if not named:
            return
        torchs = sorted(path for path in paths if path.startswith("torch."))
        answer = next(filter(None, map(self._table.call, torchs)), None)
        if answer is None and isinstance(node.func, ast.Attribute) and not torchs:
            answer = self._table.method(called)
        if answer is not None:
            for argument in named:
                self._settle(argument)
            self._answer(named[0], answer)

    def _import(self, node: ast.stmt, name: str, need: nvidia.Need) -> Finding:
        """The finding for an import; what a program may do without is to be looked at, and no more."""
        if need.severity == ERROR and id(node) in self._optional:
            return Finding(IMPORT, WARNING, name, f"optional: {need.advice}", "")
        return Finding(IMPORT, need.severity, name, need.advice, "")

    def _of_others(self, node: ast.expr, path: str) -> None:
        """Operators of torch_musa's own, and uses of NVIDIA's devices through other libraries."""
        finding = vendor_operators.of_name(path, self._table.release)
        if finding is None and nvidia.OF_OTHERS.fullmatch(path):
            finding = Finding(OTHERS, WARNING, path, nvidia.OTHERS_ADVICE[path.partition(".")[0]], "")
        if finding is not None:
            self._add(node, finding)

    def _operators(self, node: ast.Call, paths: Paths, called: str) -> None:
        findings = [vendor_operators.of_call(path, node) for path in sorted(paths)]
        if isinstance(node.func, ast.Attribute) and not any(path.startswith("torch.") for path in paths):
            findings.append(vendor_operators.of_method(called, self._table.release))
        for finding in filter(None, findings):
            self._add(node.func, finding)
        if called in _INSTALLING:
            self._requirements(node)

    def _requirements(self, node: ast.Call) -> None:
        """Packages that a program asks for, or installs, while it runs."""
        for part in (part for argument in node.args for part in ast.walk(argument)):
            name = re.split(r"[\s=<>!~;@\[]", text_of(part), maxsplit=1)[0]
            need = nvidia.of_distribution(name) if name else None
            if need is None:
                continue
            optional = need.severity == ERROR and any(first <= node.lineno <= last for first, last in self._functions)
            severity, advice = (WARNING, f"optional: {need.advice}") if optional else need
            self._add(part, Finding(REQUIREMENT, severity, text_of(part), advice, ""))

    def _is_of_others(self, paths: Paths) -> bool:
        return any(path.partition(".")[0] in nvidia.OTHERS or path.startswith("torch.") for path in paths)

    def _programs(self, node: ast.Call) -> None:
        """Programs of NVIDIA's in what a call starts: "nvidia-smi -q", ["nvcc", "-V"]."""
        for part in (part for argument in node.args for part in ast.walk(argument)):
            value = text_of(part) if isinstance(part, (ast.Constant, ast.JoinedStr)) else ""
            program = value.strip().partition(" ")[0].rpartition("/")[2]
            if program in nvidia.PROGRAMS:
                need = nvidia.PROGRAMS[program]
                self._add(part, Finding(PROGRAM, need.severity, program, need.advice, ""))

    def _of_triton(self, node: ast.expr, path: str) -> None:
        if path == _ASSEMBLER:
            message = "assembler of NVIDIA's devices, which no compiler for MUSA takes"
            self._add(node, Finding(KERNEL, WARNING, path, message, ""))
        elif ".extra.cuda.libdevice" in path:
            message = f"{MEANINGS[ADAPTED]}: the functions of the vendor's Triton"
            self._add(node, Finding(KERNEL, SEVERITIES[ADAPTED], path, message, "", kind=ADAPTED))
        elif ".extra.cuda" in path:
            answer = self._table.names.get("tl.extra.cuda." + path.rpartition(".")[2])
            severity, kind = (SEVERITIES[answer.kind], answer.kind) if answer else (WARNING, UNKNOWN)
            self._add(node, Finding(KERNEL, severity, path, MEANINGS[kind], "", kind=kind))

    def _settle(self, node: ast.AST) -> None:
        """The strings in a node have been dealt with."""
        self._settled.update(id(part) for part in ast.walk(node) if isinstance(part, (ast.Constant, ast.JoinedStr)))

    def _add(self, node: ast.AST, finding: Finding) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        last, end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", None)
        if (
            isinstance(node, ast.Attribute) and last != line
        ):  # a chain over several lines: what is meant stands at its end
            line, column = last, (node.end_col_offset or 0) - len(node.attr)
        elif last != line:
            end = None
        text = self._source.lines[line - 1] if line <= len(self._source.lines) else ""
        column, end = _characters(text, column), _characters(text, end) if end is not None else len(text)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            end = len(text)
        placed = finding._replace(
            file=self._source.file,
            line=self._source.line_of(line),
            column=column + 1,
            end=max(end, column) + 1,
            source=beginning(text),
        )
        self._by_place.setdefault((line, column, f"{finding.rule} {finding.name}"), placed)


def _characters(text: str, offset: int) -> int:
    """An offset in bytes, as syntax trees have them, in characters."""
    return offset if text.isascii() else bisect_left(_offsets(text), offset)


@lru_cache(maxsize=1)  # a line may have any number of findings
def _offsets(text: str) -> list[int]:
    """The offset in bytes of each character, and that of the end."""
    return [0, *accumulate(len(character.encode("utf-8", "surrogatepass")) for character in text)]


def _holds_device(node: ast.AST) -> bool:
    """The same, or a tuple, list or set that has one."""
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return any(map(is_device, parts))


def _is_of_a_device(node: ast.expr) -> bool:
    """Whether an expression looks like a device, its type or its text: d.type, str(x.device), args.device, device_type."""
    text = ast.unparse(node)
    if isinstance(node, ast.Call) and text.startswith(("str(", "repr(")):
        return bool(re.search(r"dev|\.type", text))
    return bool(_OF_A_DEVICE.search(text))


def _shown(node: ast.expr) -> str:
    """What is asked, in the words of every project: device.type, device_type, str(device)."""
    if isinstance(node, ast.Call):
        return f"{getattr(node.func, 'id', 'str')}(device)"
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "device")
    return "device.type" if name == "type" else name


def _operator(node: ast.Compare) -> str:
    signs = {ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}
    return signs.get(type(node.ops[0]), "?")


def _begins_with(paths: Sequence[str], path: str, separator: str) -> bool:
    """Whether one of the sorted `paths` is `path`, or begins with it and the separator."""
    at = bisect_left(paths, path + separator)
    return at < len(paths) and (paths[at].startswith(path + separator) if separator else paths[at] == path)
