"""What import-linter and ruff cannot say about the sources. Both are set up in pyproject.toml; see docs/architecture.md."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

SOURCE = ROOT / "src"
AREAS = SOURCE / "torchada" / "areas"
KERNELS = "torchada.areas.kernels"
PATHS = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
OF_TORCHADA = [name for name in PATHS if name.partition(".")[0] == "torchada"]


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(PATHS[name].read_text())


def nodes(node: ast.AST, *, at_import: bool = False) -> Iterator[ast.AST]:
    """Every node below `node` but those for type checkers; `at_import` leaves out the bodies of functions as well."""
    left_out = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) if at_import else ()
    for child in ast.iter_child_nodes(node):
        for_types = isinstance(child, ast.If) and getattr(child.test, "id", None) == "TYPE_CHECKING"
        if not for_types and not isinstance(child, left_out):
            yield child
            yield from nodes(child, at_import=at_import)


def imports(some: Iterable[ast.AST]) -> set[str]:
    """The modules that `some` nodes import; `from package import module` names the module."""
    modules: set[str] = set()
    for node in some:
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules |= {name if name in PATHS else str(node.module) for name in names}
    return modules


def within(modules: Iterable[str], *packages: str) -> set[str]:
    return {name for name in modules if any(f"{name}.".startswith(f"{package}.") for package in packages)}


def strings(name: str) -> set[str]:
    constants = (node.value for node in ast.walk(tree(name)) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def wings() -> list[str]:
    return [f"torchada.areas.{path.parent.name}" for path in sorted(AREAS.glob("*/__init__.py"))]


def files_of_areas() -> list[str]:
    """The files of every wing, their private helpers included."""
    return [name for wing in wings() for name in within(PATHS, wing) - {wing}]


def test_the_sources_are_found() -> None:
    assert {"torchada", "_torchada_startup", "torchada.areas.tensors.device", "musasim"} <= PATHS.keys()
    assert len(wings()) == 10 and len(files_of_areas()) > 100


def test_start_up_imports_os_and_sys_and_hands_on_to_hooks() -> None:
    """Every interpreter loads it. Not even __future__; and the import system holds its lock while it calls a finder."""
    start_up = tree("_torchada_startup")
    assert imports(nodes(start_up, at_import=True)) <= {"os", "sys"}
    handed_on_to = {f"torchada.hooks.{name}" for name in ("importer", "activation", "uninstrumented")}
    assert within(imports(nodes(start_up)), "torchada") <= handed_on_to
    finder = next(node for node in start_up.body if getattr(node, "name", None) == "HookFinder")
    assert imports(nodes(finder)) == set()


def test_the_start_up_files_name_start_up_alone() -> None:
    folder = ROOT / "sitecustomize"
    assert (folder / "torchada-init.pth").read_text() == "import _torchada_startup; _torchada_startup.install()\n"
    assert (folder / "torchada-init.start").read_text() == "_torchada_startup:install\n"
    module = ast.parse((folder / "sitecustomize.py").read_text())
    known = within(imports(nodes(module)), "_torchada_startup", "torchada", "musasim")
    assert known == {"_torchada_startup"}


def test_what_is_seldom_needed_is_loaded_late() -> None:
    """Telemetry, the private cache and what is built in C++: no import of torchada loads them where nobody asks for them."""
    for name in OF_TORCHADA:
        loaded = imports(nodes(tree(name), at_import=True))
        if not within([name], "torchada.telemetry"):
            assert not within(loaded, "torchada.telemetry"), name
        if not within([name], "torchada.base.caches", f"{KERNELS}.overrides", f"{KERNELS}._host_compiler"):
            assert not within(loaded, "_torchada_cache", "torchada.base.caches"), name


def test_only_a_switch_and_a_command_load_telemetry() -> None:
    known = {name for name in OF_TORCHADA if within(imports(nodes(tree(name))), "torchada.telemetry")}
    assert known - within(known, "torchada.telemetry") == {"torchada.hooks.activation", "torchada.cli.run"}


def test_wrapt_is_known_to_redirect_and_areas_alone() -> None:
    known = {name for name in OF_TORCHADA if within(imports(nodes(tree(name))), "wrapt")}
    assert known and not known - within(known, "torchada.redirect", "torchada.areas", "torchada.telemetry")


def assigned(module: str, name: str) -> object:
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", None) for target in node.targets] == [name]:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{module} assigns no {name}")


def test_every_wing_is_a_folder_and_every_folder_a_wing() -> None:
    """The platform `host` brings the wing of that name itself (`Backend.wing`)."""
    names = assigned("torchada.areas", "WINGS")
    assert isinstance(names, tuple)
    assert sorted({f"torchada.areas.{name}" for name in names} | {"torchada.areas.host"}) == wings()
    assert [path.name for path in AREAS.glob("*.py")] == ["__init__.py"]


def area_functions(module: str) -> list[str]:
    """An area is a public function of a public file that takes the context and yields patches."""
    if any(name.startswith("_") for name in module.split(".")) or within([module], f"{KERNELS}.overrides"):
        return []
    public = [node for node in tree(module).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    return [node.name for node in public if [argument.arg for argument in node.args.args] == ["context"]]


def test_a_wings_table_names_every_area_of_its_folder_and_no_other() -> None:
    for wing in wings():
        table = assigned(wing, "AREAS")
        assert isinstance(table, dict)
        named = [area for areas in table.values() for area in areas]
        written = [
            module.removeprefix(f"{wing}.") + ("" if function == "patches" else f".{function}")
            for module in within(PATHS, wing) - {wing}
            for function in area_functions(module)
        ]
        assert sorted(named) == sorted(written), wing
        assert imports(nodes(tree(wing))) == set(), f"{wing} is a table"


def test_an_area_knows_its_own_wings_private_helpers_alone() -> None:
    """No other area of its wing, and no adapter; the subpackages that it may know are import-linter's business."""
    for name in files_of_areas():
        wing = ".".join(name.split(".")[:3])
        modules = imports(nodes(tree(name)))
        private = {module for module in within(modules, wing) if module.removeprefix(f"{wing}.").startswith("_")}
        overrides = within(modules, "torchada.areas.kernels.overrides")
        may_know = name == "torchada.areas.kernels.cpp_ops" or within([name], "torchada.areas.kernels.overrides")
        assert within(modules, wing) - private == (overrides if may_know else set()), name
        assert not within(modules, "torch_musa", "torchada.backends.musa"), name


def test_an_area_changes_nothing_itself() -> None:
    for name in files_of_areas():
        for node in nodes(tree(name)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("setattr", "delattr"), f"{name}, line {node.lineno}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                place = f"{node.value.id}.{node.attr}"
                assert place not in ("sys.modules", "sys.meta_path"), f"{name}, line {node.lineno}"


def test_an_area_names_no_concrete_backend() -> None:
    for name in files_of_areas():
        written = strings(name) | {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree(name))}
        assert not {"musa", "torch_musa", "MUSA", "mcc"} & written, name


def test_the_battery_names_cuda_alone() -> None:
    """Its programs are CUDA's: a word of ours or of another device in them, and they would not see CUDA."""
    for name in within(PATHS, "torch_battery"):
        assert not [word for word in ("torchada", "musa", "mccl") if word in PATHS[name].read_text().lower()], name


def test_the_private_cache_uses_the_standard_library_alone() -> None:
    """The simulator imports it, and so do the stand-ins for compilers; each of them names its own folder and variable."""
    for name in within(PATHS, "_torchada_cache"):
        others = {module.partition(".")[0] for module in imports(nodes(tree(name)))} - {"_torchada_cache"}
        assert others <= sys.stdlib_module_names, name
        assert not [text for text in strings(name) if text.startswith(("TORCHADA_", "MUSASIM_"))], name


def test_our_variables_are_read_by_the_settings() -> None:
    """ruff names every reader of the environment but the exceptions in pyproject.toml; these read no variable of ours."""
    readers = {"_torchada_startup", "torchada.base.settings", "torchada.hooks.importer"}
    for name in {"_torchada_startup", *OF_TORCHADA} - readers:
        for node in nodes(tree(name)):
            asked = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else None
            if asked is not None and "os.environ" in ast.unparse(asked):
                assert "TORCHADA_" not in ast.unparse(node), f"{name}, line {getattr(node, 'lineno', 0)}"


def test_each_exception_for_the_environment_is_needed(pytestconfig: pytest.Config) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("the standard library reads TOML from Python 3.11 on")
    import tomllib

    ignores = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]["per-file-ignores"]
    for pattern, rules in ignores.items():
        if rules == ["TID251"]:
            assert any("environ" in path.read_text() or "warnings" in path.name for path in _matching(pattern)), pattern


def _matching(pattern: str) -> list[Path]:
    head, brace, tail = pattern.partition("{")
    if not brace:
        return [path for path in ROOT.glob(pattern) if path.suffix == ".py"]
    choices, _, end = tail.partition("}")
    return [path for choice in choices.split(",") for path in ROOT.glob(f"{head}{choice}{end}")]
