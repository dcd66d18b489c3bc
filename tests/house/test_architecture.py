"""Which module may import which, read from the sources. See docs/architecture.md."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = [pytest.mark.once, pytest.mark.core]

SOURCE = ROOT / "src"
TORCHADA = SOURCE / "torchada"
WING_NAMES = ("tensors", "cuda", "precision", "dispatch", "compiler", "distributed", "native", "libraries")
FILES = sorted(path for path in SOURCE.rglob("*.py") if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in FILES}


def tree(name: str) -> ast.Module:
    return ast.parse(NAMES[name].read_text())


def package(name: str) -> list[str]:
    """The modules of a package, itself included; empty where there is none."""
    return [each for each in NAMES if each == name or each.startswith(f"{name}.")]


def run_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below `node`, except those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and getattr(child.test, "id", None) == "TYPE_CHECKING":
            continue
        yield child
        yield from run_time_nodes(child)


def start_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """As `run_time_nodes`, without the bodies of functions: the code that runs when the module is imported."""
    for child in ast.iter_child_nodes(node):
        is_typing = isinstance(child, ast.If) and getattr(child.test, "id", None) == "TYPE_CHECKING"
        if is_typing or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        yield child
        yield from start_nodes(child)


def imported(name: str, nodes: Iterator[ast.AST]) -> set[str]:
    """Names of the modules that `nodes` of the module `name` import; `from package import module` names the module."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = ".".join(filter(None, [_base(name, node.level), node.module]))
            submodules = {f"{module}.{alias.name}" for alias in node.names} & NAMES.keys()
            found |= submodules or {module}
    return found


def _base(name: str, level: int) -> str:
    """The package that a relative import of `name` starts from; nothing for an absolute import."""
    parts = name.split(".") if NAMES.get(name, Path()).name == "__init__.py" else name.split(".")[:-1]
    return ".".join(parts[: len(parts) - level + 1]) if level else ""


def imports(name: str) -> set[str]:
    return imported(name, run_time_nodes(tree(name)))


def within(found: set[str], *packages: str) -> set[str]:
    """Those of `found` that are, or are within, one of `packages`."""
    return {name for name in found if any(name == each or name.startswith(f"{each}.") for each in packages)}


def string_constants(name: str) -> set[str]:
    return {
        node.value for node in ast.walk(tree(name)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_the_sources_are_found() -> None:
    assert {
        "torchada",
        "_torchada_startup",
        "torchada.hooks.importer",
        "torchada.areas.tensors.device",
        "musasim",
    } <= NAMES.keys()


def test_the_start_up_path_imports_os_and_sys_alone() -> None:
    """Not even __future__, because every module adds to the start of every interpreter."""
    name = "_torchada_startup"
    assert imported(name, start_nodes(tree(name))) <= {"os", "sys"}


def test_the_finder_imports_nothing_when_it_is_asked() -> None:
    """The import system holds its lock while it calls finders, so only loaders and `install` may import."""
    finder = next(node for node in tree("_torchada_startup").body if getattr(node, "name", None) == "HookFinder")
    assert imported("_torchada_startup", run_time_nodes(finder)) == set()


def test_start_up_knows_hooks_alone() -> None:
    assert within(imports("_torchada_startup"), "torchada") <= {
        "torchada.hooks.importer",
        "torchada.hooks.activation",
    }


def test_the_start_up_files_know_start_up_alone() -> None:
    line = (ROOT / "sitecustomize" / "torchada-init.pth").read_text()
    assert line == "import _torchada_startup; _torchada_startup.install()\n"
    assert (ROOT / "sitecustomize" / "torchada-init.start").read_text() == "_torchada_startup:install\n"
    found = ast.parse((ROOT / "sitecustomize" / "sitecustomize.py").read_text())
    assert within(imported("sitecustomize", run_time_nodes(found)), "_torchada_startup", "torchada", "musasim") == {
        "_torchada_startup"
    }


@pytest.mark.parametrize("name", package("torchada.hooks"))
def test_hooks_reach_areas_and_concrete_backends_by_string_only(name: str) -> None:
    assert not within(
        imports(name), "torchada.areas", "torchada.backends.musa", "torch", "torch_musa", "musasim", "wrapt"
    )


@pytest.mark.parametrize("name", package("torchada.redirect"))
def test_redirect_knows_no_areas_backends_or_hooks(name: str) -> None:
    """Objects and a descriptor are passed to redirect; torch is passed in as well, so redirect does not import it either."""
    known = within(
        imports(name), "torchada.areas", "torchada.backends", "torchada.hooks", "torchada.cli", "torch", "musasim"
    )
    assert known == set()


@pytest.mark.parametrize("name", package("torchada.backends"))
def test_backends_are_values_and_cheap_probes(name: str) -> None:
    found = imports(name)
    assert not within(found, "torchada.areas", "torchada.redirect", "torchada.hooks", "torch", "torch_musa", "musasim")
    parts = {f"torchada.backends.{each}" for each in ("descriptor", "parts", "build", "record")}
    assert name == "torchada.backends.select" or within(found, "torchada") <= parts


@pytest.mark.parametrize("name", package("torchada.telemetry"))
def test_telemetry_knows_redirect_alone(name: str) -> None:
    others = within(imports(name), "torchada") - within(imports(name), "torchada.redirect", "torchada.telemetry")
    assert others <= {"torchada", "torchada.report.pages", "torchada.report.schemas", "torchada.report.text"}, (
        "the version, and how to write"
    )


def test_telemetry_is_loaded_where_it_is_asked_for() -> None:
    """Two modules load it, and neither of them when it is imported: switched off, it is not loaded."""
    for name in set(package("torchada")) - set(package("torchada.telemetry")):
        assert not within(imported(name, start_nodes(tree(name))), "torchada.telemetry"), name
        known = within(imports(name), "torchada.telemetry")
        assert not known or name in ("torchada.hooks.activation", "torchada.cli.run"), name


def test_a_report_can_be_begun_without_torch() -> None:
    for name in ("report", "page", "kinds", "places"):
        found = imports(f"torchada.telemetry.{name}")
        known = {f"torchada.telemetry.{each}" for each in ("page", "kinds", "places")}
        assert within(found, "torchada") <= {
            *known,
            "torchada.report.pages",
            "torchada.report.schemas",
            "torchada.report.text",
        }


@pytest.mark.parametrize("name", package("torchada.tools.check"))
def test_check_reads_sources_and_needs_no_torch(name: str) -> None:
    found = imports(name)
    rooms = ("check", "porting", "pages", "schemas", "redirect.views")
    others = within(found, "torchada") - within(found, *(f"torchada.{room}" for room in rooms))
    assert others <= {"torchada", "torchada.report.severity", "torchada.report.text"} and not within(found, "torch")


@pytest.mark.parametrize("name", package("torchada.tools.doctor"))
def test_the_doctor_asks_other_processes_for_torch(name: str) -> None:
    found = imports(name)
    rooms = ("doctor", "backends", "schemas", "redirect.views", "hooks.startup_files")
    others = within(found, "torchada") - within(found, *(f"torchada.{room}" for room in rooms))
    leaves = {f"torchada.{each}" for each in ("_processes", "_settings", "_severity", "_text")}
    assert others <= {"torchada", "torchada.hooks", *leaves}
    assert not within(found, "torch", "torch_musa", "musasim")


def test_pages_know_nothing_of_ours() -> None:
    known = {each for name in package("torchada.report.pages") for each in within(imports(name), "torchada", "torch")}
    assert known <= {"torchada.report.pages", "torchada.report.pages.parts"}


def test_schemas_and_text_know_the_version_alone() -> None:
    assert within(imports("torchada.report.schemas") | imports("torchada.report.text"), "torchada", "torch") <= {
        "torchada"
    }


@pytest.mark.parametrize("name", [name for name in package("torchada") if name != "torchada.base.warnings"])
def test_warnings_are_given_in_one_place(name: str) -> None:
    """That place names the line of the program, and not one of ours."""
    calls = [node for node in run_time_nodes(tree(name)) if isinstance(node, ast.Call)]
    assert not [call.lineno for call in calls if ast.unparse(call.func) == "warnings.warn"]


WINGS = [f"torchada.areas.{wing}" for wing in WING_NAMES]
AREAS = [name for name in package("torchada.areas") if name not in ("torchada.areas", *WINGS)]


def test_every_wing_is_a_folder_and_every_folder_a_wing() -> None:
    folders = {path.parent for path in (TORCHADA / "areas").glob("*/__init__.py")}
    assert {folder.name for folder in folders} == set(WING_NAMES)
    assert [path.name for path in (TORCHADA / "areas").glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize("wing", WING_NAMES)
def test_a_wings_table_names_every_area_of_its_folder_and_no_other(wing: str) -> None:
    """An area is a public function of a file that takes the context and yields patches; the rest of a wing's files is private."""
    table = ast.literal_eval(_assigned(f"torchada.areas.{wing}", "AREAS"))
    named = [area for areas in table.values() for area in areas]
    written = [
        each.rpartition(".")[2] + ("" if function == "patches" else f".{function}")
        for each in package(f"torchada.areas.{wing}")
        for function in _area_functions(each)
    ]
    assert sorted(named) == sorted(written)
    assert len(named) == len(set(named))


def _assigned(module: str, name: str) -> ast.expr:
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", None) for target in node.targets] == [name]:
            return node.value
    raise AssertionError(f"{module} assigns no {name}")


def _area_functions(module: str) -> list[str]:
    if module.rpartition(".")[2].startswith("_") or module in WINGS:
        return []
    public = [node for node in tree(module).body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    return [node.name for node in public if [each.arg for each in node.args.args] == ["context"]]


@pytest.mark.parametrize("name", AREAS)
def test_an_area_knows_redirect_and_its_own_wings_private_helpers(name: str) -> None:
    """An area imports no other wing, no other area of its own wing, no backend and no hook."""
    found = imports(name)
    wing = name.rpartition(".")[0]
    others = within(found, "torchada") - within(
        found, "torchada.redirect", "torchada.building", "torchada.base.warnings"
    )
    others -= {each for each in others if each.startswith(f"{wing}._")}
    assert others <= (
        {"torchada.areas.kernels.overrides.overrides"} if name == "torchada.areas.kernels.cpp_ops" else set()
    )
    assert not within(found, "torch_musa", "musasim")


@pytest.mark.parametrize("name", WINGS)
def test_a_wing_is_a_table_and_imports_nothing(name: str) -> None:
    assert imports(name) == set()


@pytest.mark.parametrize("name", AREAS)
def test_an_area_changes_nothing_itself(name: str) -> None:
    for node in run_time_nodes(tree(name)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("setattr", "delattr"), f"line {node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            place = f"{node.value.id}.{node.attr}"
            assert place not in ("sys.modules", "sys.meta_path", "os.environ", "os.getenv"), f"line {node.lineno}"


@pytest.mark.parametrize("name", AREAS)
def test_an_area_names_no_concrete_backend(name: str) -> None:
    names = {node.id for node in ast.walk(tree(name)) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree(name)) if isinstance(node, ast.Attribute)}
    assert not {"musa", "torch_musa", "MUSA"} & (names | attributes | string_constants(name))


@pytest.mark.parametrize("name", AREAS)
def test_importing_an_area_imports_no_torch(name: str) -> None:
    assert not within(imported(name, start_nodes(tree(name))), "torch")


@pytest.mark.parametrize("name", package("torchada.areas.kernels.overrides"))
def test_overrides_of_operators_know_no_hooks_areas_or_backends(name: str) -> None:
    found = imports(name)
    assert not within(found, "torchada.hooks", "torchada.areas", "torchada.backends", "torch", "torch_musa", "musasim")
    assert not {"musa", "torch_musa", "mcc"} & string_constants(name)


@pytest.mark.parametrize("name", package("musasim"))
def test_the_simulator_knows_nothing_of_torchada(name: str) -> None:
    assert not within(imports(name), "torchada")


@pytest.mark.parametrize("name", package("torch_host"))
def test_the_hosts_adapter_knows_nothing_of_torchada(name: str) -> None:
    assert not within(imports(name), "torchada", "musasim")


@pytest.mark.parametrize("name", package("torch_battery"))
def test_the_battery_knows_torch_alone(name: str) -> None:
    """Its programs are CUDA's: they name neither us nor another device, or they would not see CUDA."""
    assert not within(imports(name), "torchada", "musasim", "torch_musa", "torch_host")
    assert not [word for word in ("torchada", "musa", "mccl") if word in NAMES[name].read_text().lower()]


@pytest.mark.parametrize("tool", ["verify", "bench"])
def test_a_tool_that_runs_programs_knows_no_other_tool(tool: str) -> None:
    """What the two share is in `trials`, which knows neither of them; only what runs in a process of its own knows the battery."""
    known = ("pages", "schemas", "trials", "cli.terminal", "_severity", "_text", tool)
    for name in package(f"torchada.{tool}"):
        found = within(imports(name), "torchada") - {"torchada"}
        found -= within(found, *(f"torchada.{each}" for each in known))
        assert found <= ({"torchada.redirect.unsupported"} if name == "torchada.tools.verify.worker" else set()), name
        assert name.endswith(".worker") or not within(imports(name), "torch", "torch_battery"), name
    for name in package("torchada.tools.runner"):
        assert not within(imports(name), "torchada.tools.verify", "torchada.tools.bench"), name


@pytest.mark.parametrize("name", package("torchada.areas.host"))
def test_the_hosts_wing_knows_redirect_alone(name: str) -> None:
    others = within(imports(name), "torchada") - within(imports(name), "torchada.redirect", "torchada.areas.host")
    assert others == set()
    assert not within(imported(name, start_nodes(tree(name))), "torch", "torch_host")


@pytest.mark.parametrize("name", package("torchada"))
def test_torchada_imports_no_simulator_and_no_adapter(name: str) -> None:
    assert not within(imports(name), "musasim", "torch_musa", "torch_host")


@pytest.mark.parametrize("name", package("torchada"))
def test_no_import_of_torchada_imports_torch(name: str) -> None:
    assert not within(imported(name, start_nodes(tree(name))), "torch")


def test_porting_needs_no_torch() -> None:
    for name in package("torchada.porting"):
        found = within(
            imports(name), "torch", *(f"torchada.{room}" for room in ("hooks", "redirect", "areas", "backends"))
        )
        assert not found, name


# Exceptions besides the settings: start-up may import nothing, and its fast path must not load the settings.
READERS = {"torchada.base.settings", "_torchada_startup", "torchada.hooks.importer"}
# These read and set variables of other programs (visible devices, NCCL's, PYTHONPATH, those of builds), or hand all on.
OF_OTHERS = {
    "torchada.building.environment",
    "torchada.cli.device",
    "torchada.cli.run",
    "torchada.control.startup_files",
    "torchada.redirect.mirrors.allocator",
    "torchada.redirect.mirrors.collectives",
    "torchada.redirect.mirrors.visible_devices",
    "torchada.tools.runner.child",
    "torchada.redirect.owners",
}


def variables_read(module: ast.Module) -> list[str | None]:
    """The variable that each place reads from the environment; None where the place itself does not show the name."""
    constants = {
        target.id: node.value.value
        for node in ast.walk(module)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: list[str | None] = []
    for node in ast.walk(module):
        asked: ast.AST | None = None
        if isinstance(node, ast.Call) and _is_environment(getattr(node.func, "value", None)):
            asked = node.args[0] if node.args else None
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "getenv":
            asked = node.args[0]
        elif isinstance(node, ast.Subscript) and _is_environment(node.value) and isinstance(node.ctx, ast.Load):
            asked = node.slice
        elif isinstance(node, ast.Compare) and any(map(_is_environment, node.comparators)):
            asked = node.left
        if asked is not None:
            name = constants.get(asked.id) if isinstance(asked, ast.Name) else getattr(asked, "value", None)
            found.append(name if isinstance(name, str) else None)
    return found


def _is_environment(node: ast.AST | None) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == "environ"


def test_variables_read_are_found_in_the_syntax_tree() -> None:
    code = """
        MARK = "TORCHADA_A"
        os.environ.get(MARK); os.environ.pop("TORCHADA_B", None); os.environ["TORCHADA_C"]; "TORCHADA_D" in os.environ
        os.getenv("TORCHADA_E"); os.environ["TORCHADA_SET"] = "1"; os.environ.get(unknown)
    """
    found = variables_read(ast.parse(textwrap.dedent(code)))
    assert sorted(filter(None, found)) == [f"TORCHADA_{letter}" for letter in "ABCDE"] and found.count(None) == 1


@pytest.mark.parametrize("name", ["_torchada_startup", *package("torchada")])
def test_our_variables_are_read_by_the_settings(name: str) -> None:
    """No other module reads them, either by name or by searching the environment."""
    touched = [
        node.lineno
        for node in run_time_nodes(tree(name))
        if (isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "getenvb"))
        or (
            isinstance(node, ast.ImportFrom) and node.module == "os" and "environ" in [each.name for each in node.names]
        )
    ]
    assert not touched or name in READERS | OF_OTHERS, touched
    ours = [each for each in variables_read(tree(name)) if each is not None and each.startswith("TORCHADA_")]
    assert name in READERS or not ours, ours


def test_each_exception_to_one_reader_is_still_needed() -> None:
    for name in READERS | OF_OTHERS:
        assert any(getattr(node, "attr", "") == "environ" for node in run_time_nodes(tree(name))), name


@pytest.mark.parametrize("name", package("torchada.building"))
def test_building_knows_porting_and_caches_alone(name: str) -> None:
    """The stand-in for nvcc is started for every source, so it must not load torch or the code that patches torch."""
    others = within(imports(name), "torchada") - within(imports(name), "torchada.building", "torchada.porting")
    assert others <= {"torchada.base.caches"}


@pytest.mark.parametrize("name", package("_torchada_cache"))
def test_the_private_cache_knows_neither_of_those_who_share_it(name: str) -> None:
    """It uses only the standard library, because the simulator imports it, and so do the stand-ins for compilers."""
    others = {module.partition(".")[0] for module in imports(name)} - {"_torchada_cache"}
    assert others <= sys.stdlib_module_names
    assert not [text for text in string_constants(name) if text.startswith(("TORCHADA_", "MUSASIM_"))]


def test_the_private_cache_is_loaded_where_something_is_built() -> None:
    """No import loads it where there is nothing to build."""
    for name in package("torchada"):
        known = within(imported(name, start_nodes(tree(name))), "_torchada_cache", "torchada.base.caches")
        assert not known or name == "torchada.base.caches" or name in package("torchada.areas.kernels.overrides"), name


def test_no_cycles_at_import() -> None:
    """Each module can be imported first."""
    done: dict[str, bool] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        if done.get(name):
            return
        needed = within(imported(name, start_nodes(tree(name))), "torchada") & NAMES.keys()
        for other in needed - {name}:
            visit(other, (*path, name))
        done[name] = True

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 2000))
    for name in package("torchada"):
        visit(name, ())
