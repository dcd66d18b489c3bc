"""Environment variables of CUDA's that a program sets or reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchada.backends.musa import MUSA
from torchada.report.answers import ADAPTED
from torchada.report.severity import NOTE, OK, WARNING
from torchada.tools.check.findings import VARIABLE, Finding

NAME = re.compile(r"(?:CUDA|NCCL|CUBLAS|CUBLASLT|CUDNN|NVIDIA|TORCH_NCCL|TORCH_CUDA)_[A-Z0-9_]+|PYTORCH_\w*CUDA_\w+")
_OF_BUILDS = frozenset({"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_BIN_PATH", "CUDA_TOOLKIT_ROOT_DIR"})
_OF_NVIDIA = re.compile(
    r"(?:NVIDIA|CUDNN|CUBLAS|CUBLASLT)_\w+|CUDA_(?:AUTO|CACHE|DISABLE|ENABLE|FORCE|INJECTION64|LOG|MANAGED|MPS|SCALE)_\w+"
)
_FUNCTIONS = frozenset({"get", "getenv", "setdefault", "pop", "putenv", "setenv", "unsetenv"})


def uses(tree: ast.Module, lines: Sequence[str]) -> Iterator[tuple[ast.AST, Finding]]:
    """Each use of a variable by name: os.environ["NCCL_DEBUG"], os.getenv("CUDA_HOME")."""
    if not any(NAME.search(line) for line in lines if "env" in line):
        return
    for node in ast.walk(tree):
        key = _key(node)
        if key is not None and NAME.fullmatch(str(key.value)):
            yield key, of(str(key.value))


def of(name: str) -> Finding:
    """What becomes of the variable `name`."""
    own = _counterpart(name)
    if own:
        return Finding(VARIABLE, OK, name, f"handed on as {own}", "", kind=ADAPTED, to=own)
    if name in _OF_BUILDS:
        return Finding(VARIABLE, NOTE, name, "builds by torchada take the vendor's toolkit, whatever it says", "")
    if own == "" or name in MUSA.variables.absent:
        return Finding(VARIABLE, WARNING, name, "it has no counterpart on MUSA, and no effect", "")
    return Finding(VARIABLE, NOTE, name, "it is read by NVIDIA's software alone, or by the program itself", "")


def is_known(name: str) -> bool:
    """Whether a name is that of a variable that software reads; a script may call its own variables CUDA_FILE."""
    is_ours = name in _OF_BUILDS or name in MUSA.variables.absent or _counterpart(name) is not None
    return is_ours or _OF_NVIDIA.fullmatch(name) is not None


def _counterpart(name: str) -> str | None:
    """MUSA's name; "" where the library is known to have none, None where nothing is known."""
    if name == "CUDA_VISIBLE_DEVICES":
        return MUSA.visible_devices
    if name == "PYTORCH_CUDA_ALLOC_CONF" and MUSA.allocator is not None:
        return MUSA.allocator.variable
    if name == "TORCH_CUDA_ARCH_LIST" and MUSA.build is not None:
        return MUSA.build.compiler.arch_variable
    return MUSA.variables.renames.get(name) or MUSA.collectives.variables.own_name(name)


def _key(node: ast.AST) -> ast.Constant | None:
    """The name in os.environ[...] and in the functions that take one."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
        return node.slice if isinstance(node.slice, ast.Constant) else None
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
        return None
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    of_others = name == "get" and not ast.unparse(function).endswith("environ.get")
    return node.args[0] if name in _FUNCTIONS and not of_others else None
