"""src/torchada/tools/check/apis.json: how each API of CUDA is answered, as the areas' own records say in a redirected process.

`python scripts/cuda_apis.py` writes it; with `--check` it writes nothing, and ends with 1 where it is out of date. It needs the
newest torch that is supported, and the simulator.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from torchada.report.answers import OWN
from torchada.tools.check.releases import NEWEST, RELEASES

FILE = Path(__file__).resolve().parent.parent / "src" / "torchada" / "tools" / "check" / "apis.json"
# Modules of torch that areas wait for; importing them applies those areas.
_MODULES = (
    "torch.cuda.amp",
    "torch.cuda.nvtx",
    "torch.distributed.rpc",
    "torch.distributed._symmetric_memory",
    "torch.distributed.nn",
    "torch.export",
    "torch.profiler",
    "torch.utils.cpp_extension",
    "torch._dynamo",
    "torch._inductor",
)
# Namespaces in which a program finds CUDA; what nobody replaces there is torch's own.
_NAMESPACES = ("torch.cuda", "torch.backends.cuda", "torch.backends.cudnn", "torch.utils.cpp_extension")


def table() -> dict[str, Any]:
    """The answers on the newest torch_musa, and by older release the rows that differ, `[]` for an API without one."""
    tables = {release: _of_release(release) for release in RELEASES}
    rows = {release: tables[release]["apis"] for release in RELEASES}
    newest = rows[NEWEST]
    differences = {
        release: {name: of.get(name, []) for name in sorted(of.keys() | newest) if of.get(name) != newest.get(name)}
        for release, of in rows.items()
        if release != NEWEST
    }
    return {
        "torch": tables[NEWEST]["torch"],
        "releases": {release: tables[release]["adapter"] for release in RELEASES},
        "apis": newest,
        "differences": differences,
    }


def _of_release(release: str) -> dict[str, Any]:
    """The answers on one release, read from a process that torchada redirects."""
    simulated = {"TORCHADA_SIMULATE": "1", "MUSASIM_RELEASE": release}
    environment = {**simulated, "TORCHADA_NATIVE": "0", "PYTHONWARNINGS": "ignore"}
    code = "import sys; sys.path.insert(0, sys.argv[1]); import cuda_apis; cuda_apis.tell()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    document: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return document


def tell() -> None:
    """Print the table of this process."""
    import torch

    import torchada  # noqa: F401
    from torchada.redirect.engine import ENGINE

    for name in _MODULES:
        importlib.import_module(name)
    rows: dict[str, list[str]] = {}
    for done in ENGINE.applied().values():
        for applied in done:
            patch = applied.patch
            # Several areas may change one entry, one after the other; the last change is in force.
            if patch.api and (applied.is_in_force or patch.api not in rows):
                why = _why(patch.replacement) if patch.kind == "unsupported" else ""
                rows[patch.api] = [patch.kind, patch.to, why]
    document = {
        "torch": torch.__version__.partition("+")[0],
        "adapter": sys.modules["torch_musa"].__version__.partition("+")[0],
        "apis": dict(sorted({**{name: [OWN] for name in _own(rows)}, **rows}.items())),
    }
    print(json.dumps(document))


def _why(replacement: Any) -> str:
    """The reason that an unsupported API gives when it is called."""
    if isinstance(replacement, type):
        return (replacement.__doc__ or "").partition("Not available on this backend: ")[2]
    function = getattr(replacement, "fget", None) or getattr(replacement, "__func__", replacement)
    if not inspect.isfunction(function):
        return ""
    why = inspect.getclosurevars(function).nonlocals.get("why")
    return why if isinstance(why, str) else ""


def _own(rows: dict[str, list[str]]) -> set[str]:
    """Public names that exist in CUDA's namespaces and that no area replaces."""
    modules = {name: importlib.import_module(name) for name in _NAMESPACES}
    for name in list(modules):
        for info in pkgutil.walk_packages(getattr(modules[name], "__path__", ()), f"{name}."):
            modules[info.name] = importlib.import_module(info.name)
    names = {f"{module}.{name}" for module in modules for name in _public(modules[module])} | modules.keys()
    names |= {f"{name}.{switch}" for name in list(names) for switch in _switches(name)}
    return {name for name in names if not _is_answered(name, rows) and _is_cudas(name)}


def _switches(name: str) -> list[str]:
    """The switches of an object that answers for them in `__getattr__`, as torch.backends.cuda.matmul does."""
    module, _, attribute = name.rpartition(".")
    owner = getattr(sys.modules.get(module), attribute, None)
    code = getattr(getattr(type(owner), "__getattr__", None), "__code__", None)
    if code is None or not type(owner).__module__.startswith("torch.backends."):
        return []
    return [
        constant
        for constant in code.co_consts
        if isinstance(constant, str) and constant.isidentifier() and hasattr(owner, constant)
    ]


def _is_cudas(name: str) -> bool:
    """Whether a name is about CUDA: of torch.utils.cpp_extension, which is about C++ too, not all are."""
    return not name.startswith("torch.utils.") or "cuda" in name.lower() or name.endswith((".load", ".load_inline"))


def _is_answered(name: str, rows: dict[str, list[str]]) -> bool:
    """Whether a row is about the name, about what it is in, or about the same function of torch.cuda itself."""
    parts = name.split(".")
    above = {".".join(parts[:number]) for number in range(1, len(parts) + 1)}
    return bool(above & rows.keys()) or (name.startswith("torch.cuda.") and f"torch.cuda.{parts[-1]}" in rows)


def _public(module: ModuleType) -> list[str]:
    """What a module lists, and what it has of torch's; not what it has imported from elsewhere."""
    listed = set(getattr(module, "__all__", ()))
    contents = {**vars(getattr(module, "m", module)), **vars(module)}
    names = {name for name in contents if not name.startswith("__")}
    # torch.backends.cudnn is an object: its switches are properties of its class.
    names |= {name for name in vars(type(module)) if type(module) is not ModuleType and name[0] != "_"}
    listed |= names - contents.keys()
    return [name for name in names if name in listed or _is_of_torch(contents[name])]


def _is_of_torch(value: object) -> bool:
    home = getattr(value, "__module__", None)
    if home == "torch":  # torch.cuda.OutOfMemoryError
        return isinstance(value, type) and issubclass(value, Exception)
    return not isinstance(value, ModuleType) and isinstance(home, str) and home.startswith("torch.")


def text(document: dict[str, Any]) -> str:
    """The file: one row a line, so that changes can be read."""
    head = "".join(f" {json.dumps(key)}: {json.dumps(document[key])},\n" for key in ("torch", "releases"))
    older = ",\n".join(f"  {json.dumps(key)}: {_rows(rows, 3)}" for key, rows in document["differences"].items())
    return f'{{\n{head} "apis": {_rows(document["apis"], 2)},\n "differences": {{\n{older}\n }}\n}}\n'


def _rows(rows: dict[str, list[str]], indent: int) -> str:
    lines = ",\n".join(f"{' ' * indent}{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    return f"{{\n{lines}\n{' ' * (indent - 1)}}}"


def main() -> int:
    """Write or compare; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    new = text(table())
    if options.check:
        is_stale = not FILE.exists() or FILE.read_text(encoding="utf-8") != new
        print(
            "src/torchada/tools/check/apis.json is not what scripts/cuda_apis.py writes" if is_stale else "up to date"
        )
        return int(is_stale)
    FILE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
