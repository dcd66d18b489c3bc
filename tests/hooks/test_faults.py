"""Whatever goes wrong in torchada or around it, the user's program goes on or gets one clear error, and status reports it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

STATUS = ["-m", "torchada.hooks", "status", "--json", "--probe"]
FAULTY = """
AREAS = {"torch": ("broken",)}
def broken(context):
    from torchada.redirect.engine import Patch
    yield Patch(context.torch, "left_behind", True, "a test")
    {fault}
"""
# The fault comes before any patch is applied, or in the middle of the batch.
FAULTS = {
    "building its patches": "raise ValueError('broken area')",
    "applying them": "yield Patch(5, 'broken area', True, 'a test')",
}


@pytest.fixture
def area(tmp_path: Path) -> Any:
    """A function that installs an area named `faulty` with the given text."""
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[torchada.areas]\nfaulty = faulty_area\n")

    def make(fault: str) -> None:
        (tmp_path / "faulty_area.py").write_text(FAULTY.replace("{fault}", fault))

    return make


@pytest.fixture
def lenient(musa: Interpreter) -> Interpreter:
    """An interpreter without strict mode, as users have it: faults end in warnings and do not raise."""
    musa.env["TORCHADA_STRICT"] = "0"
    return musa


def warnings_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"torchada: .*", done.stderr)


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_an_area_that_raises_is_reverted_with_one_warning(lenient: Interpreter, area: Any, fault: str) -> None:
    area(fault)
    done = lenient.run("import torch; print(torch.zeros(1, device='cuda').device, hasattr(torch, 'left_behind'))")
    assert done.stdout.strip() == "cuda:0 False"
    (warning,) = warnings_of(done)
    assert "'faulty.broken'" in warning and "TORCHADA_SKIP_AREAS=faulty.broken" in warning


@pytest.mark.musa
def test_a_faulty_area_is_switched_off_by_name(lenient: Interpreter, area: Any) -> None:
    area(FAULTS["applying them"])
    done = lenient.run("import torch; print(torch.zeros(1).cuda().device)", env={"TORCHADA_SKIP_AREAS": "faulty"})
    assert done.stdout.strip() == "cuda:0" and done.stderr == ""


@pytest.mark.musa
def test_status_shows_an_area_that_raises(lenient: Interpreter, area: Any) -> None:
    area(FAULTS["building its patches"])
    done = lenient.run(STATUS, check=False)
    assert done.returncode == 2
    assert '"outcome": "failed"' in done.stdout and "ValueError: broken area" in done.stdout
    assert '"torch": "failed: faulty.broken: ValueError: broken area"' in done.stdout


@pytest.mark.musa
def test_strict_mode_raises_the_fault_of_an_area(musa: Interpreter, area: Any) -> None:
    area(FAULTS["building its patches"])
    done = musa.run("import torch", check=False)
    assert done.returncode == 1
    assert (
        "ValueError: broken area" in done.stderr
        and "torchada.base.warnings.TorchadaError" in done.stderr.splitlines()[-1]
    )


@pytest.mark.musa
def test_a_faulty_area_does_not_break_the_import_where_warnings_are_errors(lenient: Interpreter, area: Any) -> None:
    area(FAULTS["building its patches"])
    code = "import torch, warnings; print(torch.zeros(1).cuda().device)"
    done = lenient.run(["-W", "error::RuntimeWarning", "-c", code])
    assert done.stdout.strip() == "cuda:0" and len(warnings_of(done)) == 1


BROKEN_ADAPTERS = {
    "at once": "raise OSError('libmusa.so.1: cannot open shared object file')",
    "after torch": "import torch\nraise OSError('libmusa.so.1: cannot open shared object file')",
    "without registering": "pass",
}


@pytest.mark.full
@pytest.mark.parametrize("body", BROKEN_ADAPTERS.values(), ids=list(BROKEN_ADAPTERS))
def test_a_broken_adapter_leaves_torch_unchanged(tmp_path: Path, body: str) -> None:
    (tmp_path / "torch_musa.py").write_text(body)
    interpreter = Interpreter(cwd=tmp_path)
    code = """
    import os, torch, torchada
    print(torch.zeros(2).device, torchada.is_patched(), torch.device("cuda").type, "MUSA_VISIBLE_DEVICES" in os.environ)
    """
    done = interpreter.run(code, env={"CUDA_VISIBLE_DEVICES": "0"})
    assert done.stdout.strip() == "cpu False cuda False"
    (warning,) = warnings_of(done)
    assert "torch_musa" in warning and ("libmusa.so.1" in warning or body == "pass")


def test_status_reports_a_broken_adapter(tmp_path: Path) -> None:
    (tmp_path / "torch_musa.py").write_text(BROKEN_ADAPTERS["at once"])
    done = Interpreter(cwd=tmp_path).run(STATUS, check=False)
    assert done.returncode == 2 and "libmusa.so.1" in done.stdout


def test_a_program_that_imports_a_broken_adapter_gets_its_error(tmp_path: Path) -> None:
    """The program has to handle the error; if it goes on, it can import torch."""
    (tmp_path / "torch_musa.py").write_text(BROKEN_ADAPTERS["after torch"])
    code = """
    try:
        import torch_musa
    except OSError as error:
        print(error)
    import torch
    print(torch.zeros(1).device)
    """
    done = Interpreter(cwd=tmp_path).run(code)
    assert done.stdout.splitlines() == ["libmusa.so.1: cannot open shared object file", "cpu"]


def test_strict_mode_raises_for_a_broken_adapter(tmp_path: Path) -> None:
    (tmp_path / "torch_musa.py").write_text(BROKEN_ADAPTERS["at once"])
    done = Interpreter(cwd=tmp_path).run("import torch", env={"TORCHADA_STRICT": "1"}, check=False)
    assert done.returncode == 1 and "TorchadaError: torchada: torch_musa cannot be imported" in done.stderr


def test_a_folder_with_the_name_of_the_adapter_is_ignored(tmp_path: Path) -> None:
    """A checkout of torch_musa in the current directory, for one."""
    (tmp_path / "torch_musa" / "docs").mkdir(parents=True)
    done = Interpreter(cwd=tmp_path).run("import torch, torchada; print(torch.zeros(1).device, torchada.is_patched())")
    assert done.stdout.strip() == "cpu False" and done.stderr == ""


def test_a_broken_part_of_torchada_leaves_torch_unchanged(plain: Interpreter) -> None:
    code = """
    import os, sys
    sys.modules["torchada.hooks.choice"] = None
    os.environ["TORCHADA_PLATFORM"] = "cpu"
    import torch
    print(torch.zeros(1).device)
    """
    done = plain.run(code)
    assert done.stdout.strip() == "cpu" and len(warnings_of(done)) == 1


def test_torch_works_without_wrapt(tmp_path: Path) -> None:
    """An installation without dependencies: areas that need it fail one by one, and torch works."""
    (tmp_path / "torch_musa.py").write_text("import torch")
    code = "import sys; sys.modules['wrapt'] = None; import torch; print(torch.zeros(1).device)"
    done = Interpreter(cwd=tmp_path).run(code)
    assert done.stdout.strip() == "cpu" and warnings_of(done)


CHILD = "import os; parent = os.getpid(); pid = os.fork(); child = pid == 0; pid and os.waitpid(pid, 0)\n"


def test_a_fork_during_an_import_continues_in_both_processes(tmp_path: Path) -> None:
    """A module that forks while it is executed goes on in both processes, and both handle its end."""
    musa = (
        "from types import SimpleNamespace; musa = SimpleNamespace(); cuda = SimpleNamespace(device_count=lambda: 0)\n"
    )
    (tmp_path / "torch.py").write_text(f"{CHILD}{musa}version = SimpleNamespace(cuda=None)\n")
    (tmp_path / "torch_musa.py").write_text("import torch; value = 1\n")
    code = """
    import faulthandler, os
    faulthandler.dump_traceback_later(20, exit=True)
    import torch, sys
    print("child" if torch.child else "parent", sys.modules["torch_musa"].value, flush=True)
    if torch.child:
        os._exit(0)
    """
    done = Interpreter(cwd=tmp_path).run(code)
    assert done.stdout.splitlines() == ["child 1", "parent 1"]


def test_a_child_forked_while_another_thread_imports_can_use_torchada(tmp_path: Path) -> None:
    """The child does not wait for locks of its parent's threads, so it can use torchada."""
    (tmp_path / "torch.py").write_text("import time; time.sleep(0.5)\n")
    (tmp_path / "torch_musa.py").write_text("import torch\n")
    code = """
    import faulthandler, os, threading, time
    faulthandler.dump_traceback_later(20, exit=True)
    import torchada, torchada.control.switch, torchada.hooks.activation
    thread = threading.Thread(target=__import__, args=("torch",))
    thread.start()
    time.sleep(0.2)
    if os.fork() == 0:
        torchada.disable()
        os._exit(0 if not torchada.is_patched() else 1)
    assert os.wait()[1] == 0
    thread.join()
    print("done")
    """
    assert Interpreter(cwd=tmp_path).run(code).stdout.strip() == "done"


def simulated(tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    interpreter = Interpreter(cwd=tmp_path, env={"TORCHADA_SIMULATE": "1", **env})
    return interpreter.run("import torch; print(torch.zeros(1).device)")


@pytest.mark.musa
def test_a_missing_compiler_for_the_simulator_ends_in_one_warning(tmp_path: Path) -> None:
    done = simulated(tmp_path, CXX="/nonexistent/c++", MUSASIM_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.strip() == "cpu"
    (warning,) = warnings_of(done)
    assert "/nonexistent/c++" in warning and "Install one" in warning


@pytest.mark.musa
def test_a_failing_compiler_of_the_simulator_ends_in_one_warning(tmp_path: Path) -> None:
    done = simulated(tmp_path, CXX="false", MUSASIM_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.strip() == "cpu"
    assert len(warnings_of(done)) == 1 and "compiling for torch" in done.stderr and "FAILED" in done.stderr


@pytest.mark.musa
def test_an_unwritable_cache_of_the_simulator_ends_in_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = simulated(tmp_path, MUSASIM_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert done.stdout.strip() == "cpu"
    (warning,) = warnings_of(done)
    assert "MUSASIM_CACHE_DIR" in warning and str(tmp_path / "file") in warning


@pytest.mark.musa
def test_a_full_disk_while_the_simulator_is_built_ends_in_one_warning(tmp_path: Path) -> None:
    """A file-size limit takes the place of a full disk."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); import torch; print(torch.zeros(1).device)"
    env = {"TORCHADA_SIMULATE": "1", "MUSASIM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = Interpreter(cwd=tmp_path, env=env).run(limited)
    assert done.stdout.strip() == "cpu" and len(warnings_of(done)) == 1


@pytest.mark.musa
def test_a_program_that_imports_the_simulator_gets_its_error(tmp_path: Path) -> None:
    env = {"TORCHADA_SIMULATE": "1", "CXX": "/nonexistent/c++", "MUSASIM_CACHE_DIR": str(tmp_path / "cache")}
    done = Interpreter(cwd=tmp_path, env=env).run("import torch_musa", check=False)
    assert done.returncode == 1 and "MusasimBuildError" in done.stderr.splitlines()[-1]


@pytest.mark.musa
def test_status_reports_a_simulator_that_cannot_be_built(tmp_path: Path) -> None:
    env = {"TORCHADA_SIMULATE": "1", "CXX": "/nonexistent/c++", "MUSASIM_CACHE_DIR": str(tmp_path / "cache")}
    done = Interpreter(cwd=tmp_path, env=env).run(STATUS, check=False)
    assert done.returncode == 2 and "/nonexistent/c++" in done.stdout
