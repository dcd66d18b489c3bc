"""`python -m torchada.hooks status` reports what is in force, as text and as JSON, without changing anything."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from support import vendor_python
from support.interpreter import Interpreter
from torchada import __version__
from torchada.cli import status_text

pytestmark = pytest.mark.once

STATUS = ["-m", "torchada.hooks", "status"]
ACTIVE, INACTIVE, FAILED = 0, 1, 2
# A torch_musa that cannot be imported, for what is decided before anything is imported.
ADAPTER = "raise ImportError('no driver')\n"
FIELDS = {
    "schema",
    "version",
    "torchada",
    "created",
    "disabled",
    "startup",
    "finder",
    "platform",
    "versions",
    "modules",
    "areas",
    "workarounds",
    "cpu_fallbacks",
    "device_strings",
    "views",
    "environment",
    "problems",
    "warnings",
    "active",
}


def status(interpreter: Interpreter, *options: str, code: int, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = interpreter.run([*STATUS, "--json", *options], check=False, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def broken(plain: Interpreter, tmp_path: Path) -> Interpreter:
    """A machine with a torch_musa that cannot be imported."""
    (tmp_path / "torch_musa.py").write_text(ADAPTER)
    return Interpreter(env=plain.env, cwd=tmp_path)


def test_status_on_a_machine_with_nothing_to_do(plain: Interpreter) -> None:
    found = status(plain, code=INACTIVE)
    assert found.keys() == FIELDS
    assert found["torchada"] == __version__
    assert found["active"] is found["disabled"] is False
    assert found["finder"] == {"installed": True, "position": 0, "of": found["finder"]["of"]}
    assert Path(found["startup"]["file"]).is_file()
    assert found["platform"]["name"] == "cuda or cpu" and "torch_musa" in found["platform"]["why"]
    assert {"torch", "torch_musa", "torch._dynamo"} <= found["modules"].keys()
    assert set(found["modules"].values()) == {"not imported"}
    assert found["areas"] == found["problems"] == found["warnings"] == []
    assert found["device_strings"]["mechanism"] == "none"
    assert found["environment"]["in_force"] == {}


def test_status_shows_versions(plain: Interpreter) -> None:
    assert status(plain, code=INACTIVE)["versions"] == {
        "python": platform.python_version(),
        "torch": version("torch"),
        "torch_musa": None,
        "wrapt": version("wrapt"),
    }


@pytest.mark.parametrize("door", [STATUS, ["-m", "torchada", "status"], ["-m", "torchada.cli", "status"]])
def test_every_way_to_call_status_prints_the_same(plain: Interpreter, door: list[str]) -> None:
    done = plain.run(door, check=False)
    assert done.returncode == INACTIVE
    assert done.stdout.startswith(f"torchada {__version__}: inactive\n")


def test_status_does_not_import_torch(broken: Interpreter) -> None:
    code = """
    import sys
    from torchada.cli import main
    main(["status"])
    assert not {"torch", "torch_musa", "wrapt"} & sys.modules.keys()
    """
    broken.run(code)


def test_status_shows_that_torchada_is_disabled(broken: Interpreter) -> None:
    found = status(broken, code=INACTIVE, env={"TORCHADA_DISABLE": "1"})
    assert found["disabled"] and not found["active"]
    assert found["finder"]["installed"] is False and found["finder"]["position"] is None
    text = broken.run(STATUS, env={"TORCHADA_DISABLE": "1"}, check=False).stdout
    assert "inactive (TORCHADA_DISABLE)" in text and "finder          none" in text


def test_enable_is_stronger_than_the_variable(broken: Interpreter) -> None:
    code = "import torchada; torchada.enable(); from torchada.control.status import report; assert report()['active']"
    broken.run(code, env={"TORCHADA_DISABLE": "1"})


def test_status_finds_an_installed_adapter(broken: Interpreter) -> None:
    found = status(broken, code=ACTIVE)
    assert found["active"] and found["platform"] == {
        "name": "musa",
        "why": "torch_musa is installed",
        "chosen_with_torch": False,
    }
    assert found["versions"]["torch_musa"] == "of unknown version (real, not imported)"


@pytest.mark.parametrize("name", ["cuda", "cpu"])
def test_status_is_inactive_on_a_platform_that_is_left_alone(broken: Interpreter, name: str) -> None:
    found = status(broken, code=INACTIVE, env={"TORCHADA_PLATFORM": name})
    assert found["platform"]["name"] == name and found["platform"]["why"] == f"TORCHADA_PLATFORM={name}"


@pytest.mark.full
@pytest.mark.musa
def test_status_shows_the_views_that_were_decided(musa: Interpreter) -> None:
    code = (
        "import torch, json\nassert torch.cuda.is_available()\n"
        "exec('import torch; assert not torch.cuda.is_available()', {'__name__': 'xformers'})\n"
        "report = __import__('torch' + 'ada.control.status').control.status.report\n"
        "print(json.dumps({each['package']: [each['view'], each['why']] for each in report()['views']}))"
    )
    found = musa.json(code)
    assert found["__main__"] == ["cuda", "it does not mention MUSA"] and found["xformers"][0] == "musa"


@pytest.mark.full
def test_probe_on_a_machine_without_accelerator(plain: Interpreter) -> None:
    found = status(plain, "--probe", code=INACTIVE)
    assert found["modules"]["torch"] == "imported, left as it is"
    assert found["versions"]["torch"] == plain.run("import torch; print(torch.__version__)").stdout.strip()


@pytest.mark.full
def test_probe_finds_a_broken_adapter(broken: Interpreter) -> None:
    found = status(broken, "--probe", code=FAILED)
    (problem,) = found["problems"]
    assert "torch_musa cannot be imported" in problem and "no driver" in problem
    assert found["platform"]["name"] == "cuda or cpu" and not found["active"]
    assert f"problem         {problem}" in broken.run([*STATUS, "--probe"], check=False).stdout


def test_probe_finds_a_broken_torch(plain: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libtorch.so is missing')\n")
    found = status(Interpreter(cwd=tmp_path), "--probe", code=FAILED)
    assert found["problems"] == ["torch cannot be imported: OSError: libtorch.so is missing"]


def test_probe_finds_no_torch(tmp_path: Path, plain: Interpreter) -> None:
    code = """
    import sys
    sys.modules["torch"] = None
    from torchada.cli import main
    sys.exit(main(["status", "--probe"]))
    """
    done = Interpreter(cwd=tmp_path).run(code, check=False)
    assert done.returncode == FAILED and "torch cannot be imported: ModuleNotFoundError" in done.stdout


def test_status_finds_no_start_up_file(tmp_path: Path) -> None:
    code = """
    import sys
    from torchada.cli import main
    sys.exit(main(["status"]))
    """
    script = tmp_path / "status.py"
    script.write_text(
        f"import sys\nsys.path[:] = {sys.path!r}\n" + "\n".join(line.strip() for line in code.splitlines())
    )
    done = Interpreter().run(["-S", str(script)], check=False)
    assert "start-up file   none in force" in done.stdout, done.stderr


def test_a_sitecustomize_of_the_user_hides_ours(plain: Interpreter, tmp_path: Path) -> None:
    from torchada.control import startup_files

    (tmp_path / "sitecustomize.py").write_text("")
    code = """
    import os, sys
    from torchada.control import startup_files
    startup_files.site_folders = list
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.argv[1:])
    print(startup_files.in_force())
    """
    ours, theirs = str(startup_files.sitecustomize_folder()), str(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(ours)

    def in_force(*path: str) -> str:
        return plain.run(["-c", "\n".join(line.strip() for line in code.splitlines()), *path]).stdout.strip()

    assert in_force(ours, theirs) == f"{ours}/sitecustomize.py"
    assert in_force("/nowhere", str(link)) == f"{link}/sitecustomize.py"
    assert in_force(theirs, ours) == "None"


def test_hooks_without_a_command_prints_its_usage(plain: Interpreter) -> None:
    done = plain.run(["-m", "torchada.hooks"], check=False)
    assert done.returncode == 2 and "usage: python -m torchada.hooks" in done.stderr


def test_status_names_unknown_variables(plain: Interpreter) -> None:
    found = status(plain, code=INACTIVE, env={"TORCHADA_NOBODY_KNOWS": "1"})
    assert found["environment"]["in_force"] == {"TORCHADA_NOBODY_KNOWS": "1"}
    assert found["environment"]["unknown"] == ["TORCHADA_NOBODY_KNOWS"]


@pytest.mark.musa
def test_status_without_probe_applies_nothing(musa: Interpreter) -> None:
    found = status(musa, code=ACTIVE)
    assert found["active"] and found["platform"]["name"] == "musa"
    assert found["modules"]["torch"] == "not imported" and found["areas"] == []


@pytest.mark.musa
def test_probe_shows_modules_and_areas(musa: Interpreter) -> None:
    found = status(musa, "--probe", code=ACTIVE)
    assert found.keys() == FIELDS
    assert found["active"] and found["platform"]["name"] == "musa" and found["platform"]["chosen_with_torch"]
    # The simulator's Python waits for a program to import Dynamo, and torch_musa's own does not.
    dynamo = "wrapped" if vendor_python.VARIABLE in os.environ else "not imported"
    assert found["modules"]["torch"] == "wrapped" and found["modules"]["torch._dynamo"] == dynamo
    assert found["versions"]["torch_musa"].endswith(("(simulated)", "(real)"))
    assert found["problems"] == []
    areas = {area["name"]: area for area in found["areas"]}
    assert areas["tensors.device"]["outcome"] == areas["cuda.names"]["outcome"] == "applied"
    assert all(area["patches"] > 0 for area in areas.values() if area["outcome"] == "applied")
    assert all(area["reason"] for area in areas.values() if area["outcome"] != "applied")
    assert found["device_strings"]["mechanism"] in ("native", "portable") and found["device_strings"]["why"]


@pytest.mark.musa
def test_probe_shows_why_an_area_was_skipped(musa: Interpreter) -> None:
    found = status(musa, "--probe", code=ACTIVE, env={"TORCHADA_SKIP_AREAS": "precision.amp"})
    (amp,) = [area for area in found["areas"] if area["name"] == "precision.amp"]
    assert amp == {
        "name": "precision.amp",
        "module": "torch",
        "outcome": "skipped",
        "reason": "named in TORCHADA_SKIP_AREAS",
        "patches": 0,
    }


@pytest.mark.musa
def test_probe_prints_every_section(musa: Interpreter) -> None:
    lines = musa.run([*STATUS, "--probe", "--all"]).stdout.splitlines()
    assert lines[0] == f"torchada {__version__}: active"
    titles = ["start-up file", "finder", "platform", "device strings", "versions", "modules", "areas", "environment"]
    assert [title for title in titles if any(line.startswith(title) for line in lines)] == titles
    assert any(line.split()[:2] == ["precision.amp", "applied"] for line in lines)


@pytest.mark.musa
def test_columns_of_status_are_as_wide_as_their_entries(musa: Interpreter) -> None:
    lines = musa.run([*STATUS, "--probe", "--all"]).stdout.splitlines()
    modules = lines[lines.index("modules") + 1 : lines.index("areas")]
    areas = lines[lines.index("areas") + 1 : lines.index("workarounds for versions")]
    states = ("wrapped", "not imported", "imported, left as it is")
    assert {line.index(state) for line in modules for state in states if f"  {state}" in line} == {
        6 + max(len(line.split()[0]) for line in modules)
    }
    starts = [[found.start() for found in re.finditer(r"(?<=  )\S", line)] for line in areas]
    assert len({tuple(row[:3]) for row in starts}) == 1
    assert any(line.endswith("  1 patch") for line in areas)


@pytest.mark.musa
def test_quiet_status_prints_the_first_line_and_what_is_wrong(musa: Interpreter, plain: Interpreter) -> None:
    waiting = f"torchada {__version__}: active as soon as torch is imported (--probe tries it)\n"
    assert musa.run([*STATUS, "-q"]).stdout == waiting
    assert musa.run([*STATUS, "-q", "--probe"]).stdout == f"torchada {__version__}: active\n"
    done = plain.run([*STATUS, "-q"], env={"TORCHADA_PLATFORM": "foo"}, check=False)
    first, second = done.stdout.splitlines()
    assert first == f"torchada {__version__}: inactive" and second.startswith("warning         TORCHADA_PLATFORM='foo'")
    assert done.stderr == "", "a warning that the report has is not printed a second time"


@pytest.mark.full
@pytest.mark.musa
def test_verbose_status_lists_the_apis_of_an_area(musa: Interpreter) -> None:
    lines = musa.run([*STATUS, "--probe", "-v"]).stdout.splitlines()
    assert "        torch.cuda.synchronize" in lines or "        torch.cuda.current_device" in lines
    everything = musa.run([*STATUS, "--probe", "--all"]).stdout.splitlines()
    assert not any(line.startswith("        ") for line in everything)


@pytest.mark.musa
def test_status_fits_on_a_screen_and_counts_the_rest(musa: Interpreter, plain: Interpreter) -> None:
    probed = musa.run([*STATUS, "--probe"], env={"TORCHADA_SKIP_AREAS": "precision.amp"}).stdout.splitlines()
    assert len(probed) < 24
    assert any(re.fullmatch(r"areas           \d+ applied, \d+ skipped", line) for line in probed)
    inactive = plain.run(STATUS, check=False).stdout
    assert len(inactive.splitlines()) < 24 and re.search(r"\nmodules         \d+ not imported\n", inactive)


def test_an_area_that_failed_is_named_among_the_numbers() -> None:
    report = {
        "modules": {"torch": "failed: x"},
        "areas": [{"name": "cuda.names", "outcome": "failed", "reason": "why"}],
    }
    lines = status_text._in_numbers({**report, "workarounds": [], "views": []})
    assert lines[:3] == ["modules         1 failed", "areas           1 failed", "    cuda.names  failed: why"]


def test_status_shows_no_version_of_an_adapter_that_has_none(plain: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "torch_musa.py").write_text("")
    code = "import torch_musa; from torchada.control import status; print(status.report()['versions']['torch_musa'])"
    assert Interpreter(cwd=tmp_path).run(code).stdout.strip() == "of unknown version (real)"


@pytest.mark.musa
def test_status_report_changes_nothing(musa: Interpreter) -> None:
    musa.run(
        """
        import sys, torch
        from torchada.control import status
        status.report()
        before = set(sys.modules), list(sys.meta_path), dict(vars(torch.cuda)), dict(vars(torch))
        first, second = status.report(), status.report()
        assert first == second
        assert before == (set(sys.modules), list(sys.meta_path), dict(vars(torch.cuda)), dict(vars(torch)))
        """,
        forked=True,
    )


@pytest.mark.parametrize("command", [["torchada.hooks", "status"], ["torchada", "status", "--json"]])
def test_status_ends_quietly_when_its_reader_has_gone(plain: Interpreter, command: list[str]) -> None:
    """`status | head -1`: no traceback, and the exit code of a program that SIGPIPE has ended."""
    code = f"""
        import os, subprocess, sys
        reader, writer = os.pipe()
        os.close(reader)
        print(subprocess.run([sys.executable, "-m", *{command!r}], stdout=writer).returncode)
    """
    done = plain.run(code)
    assert (done.stdout.strip(), done.stderr) == ("141", "")
