"""What else lives in a process leaves the redirection in force: tracers, debuggers, lazy importers, options of the interpreter.

Packages that are not among the requirements of the tests are tried where they are installed. What each does is a table of
docs/how-to/tools-of-developers.md.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import zipfile
from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter

pytestmark = [pytest.mark.full, pytest.mark.once]

PROGRAM = """
import torch
x = torch.zeros(2, device="cuda")
import torchada
if not (x.is_cuda and torchada.is_patched()):
    raise SystemExit("not redirected")
"""
CHANGES = """
torchada.disable()
assert not torchada.is_patched()
torchada.enable()
assert torch.zeros(2, device="cuda").is_cuda
"""
LAZY_LOADER = """
import importlib.util, sys
spec = importlib.util.find_spec("torch")
spec.loader = importlib.util.LazyLoader(spec.loader)
torch = sys.modules["torch"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(torch)
assert "torch.cuda" not in sys.modules
"""
OPENTELEMETRY = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
trace.get_tracer("program").start_as_current_span("step").__enter__()
"""
WRAPT = """
import wrapt
seen = []
wrapt.register_post_import_hook(lambda module: seen.append(module.__name__), "torch")

@wrapt.when_imported("torch")
def wrap(module):
    @wrapt.patch_function_wrapper("torch", "ones")
    def wrapper(wrapped, instance, arguments, keywords):
        seen.append("ones")
        return wrapped(*arguments, **keywords)
"""
CALLS_WRAPPED = """
assert torch.ones(1, device="cuda").is_cuda and seen == ["torch", "ones"], seen
"""


def _need(package: str) -> None:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        pytest.skip(f"{package} is not installed")


@pytest.mark.musa
@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("lazy_loader", "import lazy_loader; torch = lazy_loader.load('torch')"),
        ("sentry_sdk", "import sentry_sdk; sentry_sdk.init(dsn='http://key@127.0.0.1:9/1')"),
        ("ddtrace", "import ddtrace.auto"),
        ("opentelemetry.sdk", OPENTELEMETRY),
        ("typeguard", "from typeguard import install_import_hook; install_import_hook(['torchada', 'musasim'])"),
        ("beartype", "from beartype.claw import beartype_package; beartype_package('torchada')"),
        ("importlib", LAZY_LOADER),
    ],
    ids=["lazy_loader", "Sentry", "ddtrace", "OpenTelemetry", "typeguard", "beartype", "LazyLoader"],
)
def test_a_package_that_is_there_first_leaves_the_device(musa: Interpreter, package: str, code: str) -> None:
    _need(package)
    quiet = {"DD_TRACE_ENABLED": "false", "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false"}
    musa.run(f"{code}\n{PROGRAM}{CHANGES}", env=quiet)


@pytest.mark.musa
def test_hooks_and_wrappers_of_wrapt_see_torch_as_redirected(musa: Interpreter) -> None:
    musa.run(WRAPT + PROGRAM + CALLS_WRAPPED + CHANGES)


@pytest.mark.musa
@pytest.mark.parametrize(
    "options",
    [["-P"], ["-I"], ["-E"], ["-s"], ["-OO"], ["-X", "dev"], ["-X", "importtime"]],
    ids=lambda options: "".join(options),
)
def test_an_option_of_the_interpreter_leaves_the_device(musa: Interpreter, options: list[str]) -> None:
    if options == ["-P"] and sys.version_info < (3, 11):
        pytest.skip("Python 3.10 has no option -P")
    musa.run([*options, "-c", PROGRAM])


@pytest.mark.musa
def test_without_site_an_import_of_torchada_is_enough(musa: Interpreter) -> None:
    """`python -S` reads no start-up file."""
    folders = os.pathsep.join(path for path in sys.path if path)
    program = f"import sys; assert '_torchada_startup' not in sys.modules\nimport torchada\n{PROGRAM}"
    musa.run(["-S", "-c", program], env={"PYTHONPATH": folders})


@pytest.mark.musa
@pytest.mark.parametrize("core", ["ctrace", "pytrace", "sysmon"])
def test_coverage_of_torchada_itself_leaves_the_device(musa: Interpreter, tmp_path: Path, core: str) -> None:
    _need("coverage")
    if core == "sysmon" and sys.version_info < (3, 12):
        pytest.skip("sys.monitoring came with Python 3.12")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    arguments = ["-m", "coverage", "run", "--source=torchada", str(program)]
    musa.run(arguments, env={"COVERAGE_CORE": core, "COVERAGE_FILE": str(tmp_path / "data")})
    report = musa.run(["-m", "coverage", "report"], env={"COVERAGE_FILE": str(tmp_path / "data")}).stdout
    assert "hooks/activation.py" in report


@pytest.mark.musa
def test_debugpy_leaves_the_device(musa: Interpreter, tmp_path: Path) -> None:
    _need("debugpy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    musa.run(["-Xfrozen_modules=off", "-m", "debugpy", "--listen", "127.0.0.1:0", str(program)])


@pytest.mark.musa
def test_pytest_may_rewrite_the_assertions_of_torchada_itself(musa: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import pytest\npytest.register_assert_rewrite('torchada', 'musasim')\n")
    body = "\n    ".join(PROGRAM.strip().splitlines())
    (tmp_path / "test_program.py").write_text(f"def test_program():\n    {body}\n")
    musa.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)])


@pytest.mark.musa
def test_a_program_in_a_zip_file_is_redirected(musa: Interpreter, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as archive:
        archive.writestr("__main__.py", f"import model\n{PROGRAM}")
        archive.writestr("model.py", "import torch\nweights = torch.ones(2, device='cuda')\nassert weights.is_cuda\n")
    musa.run([str(tmp_path / "program.zip")])


@pytest.mark.musa
def test_torchada_in_a_zip_file_redirects_portably(musa: Interpreter, tmp_path: Path) -> None:
    """An extension cannot be loaded from there."""
    archive = tmp_path / "torchada.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for package in ("torchada", "_torchada_cache", "_torchada_startup.py"):
            path = ROOT / "src" / package
            for file in [path] if path.is_file() else path.rglob("*"):
                if file.suffix != ".pyc":
                    packed.write(file, file.relative_to(ROOT / "src"))
    folders = os.pathsep.join([str(archive), *filter(None, sys.path)])
    check = f"import torchada; assert torchada.__file__.startswith({str(archive)!r})\n{PROGRAM}{CHANGES}"
    musa.run(["-S", "-c", check], env={"PYTHONPATH": folders, "TORCHADA_NATIVE": "0"})


def test_a_subinterpreter_has_the_finder_and_its_own_modules(plain: Interpreter) -> None:
    plain.run(
        """
        import importlib, sys
        name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
        interpreters = importlib.import_module(name)
        inside = interpreters.create()
        failed = interpreters.run_string(inside, '''if True:
            import sys, json
            assert [type(finder).__name__ for finder in sys.meta_path].count("HookFinder") == 1
            import torchada
            assert not torchada.is_patched()
        ''')
        assert failed is None, failed
        interpreters.destroy(inside)
        import torchada  # and in the first one as before
        """
    )
