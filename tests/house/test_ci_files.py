"""What docs/how-to/ci.md offers, run: the steps of the action, the files for copying, and the steps for each kind of project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import ROOT, Interpreter, clean_environment
from torchada.report import fidelity

pytestmark = [pytest.mark.once, pytest.mark.musa]

PAGE = (ROOT / "docs" / "how-to" / "ci.md").read_text()
EXAMPLES = ROOT / "docs" / "examples" / "ci"
ACTION = ROOT / ".github" / "actions" / "cuda-simulated"
# In the place of python: what would be downloaded is written down, and everything else is run.
PYTHON = f"""#!/bin/bash
if [[ "$1 $2" == "-m pip" ]]; then echo "${{@:3}}" >> "$PIP_CALLS"; else exec {sys.executable} "$@"; fi
"""


@pytest.fixture
def runner(tmp_path: Path) -> dict[str, str]:
    """The environment of a step on GitHub, with a python that downloads nothing."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(PYTHON)
    (programs / "python").chmod(0o755)
    return {
        **clean_environment(),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PIP_CALLS": str(tmp_path / "pip"),
        "GITHUB_ENV": str(tmp_path / "env"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_ACTION_PATH": str(ACTION),
    }


def _step(command: str, runner: dict[str, str], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A `run:` as GitHub executes it."""
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
    return subprocess.run(shell, env={**runner, **env}, cwd=folder, capture_output=True, text=True, timeout=300)


def _runs(file: Path) -> list[str]:
    """The steps of a workflow or an action that run a command."""
    commands = re.findall(r"^ +-? ?run: (.*)$", file.read_text(), re.MULTILINE)
    return [command.strip("'") for command in commands]


def test_the_steps_of_the_action(runner: dict[str, str], tmp_path: Path) -> None:
    install, key, start = _runs(ACTION / "action.yml")
    options = {"TORCH": "2.13.0", "TORCH_INDEX": "https://index", "DEVICES": "3", "MEMCHECK": "true"}
    for command in (install, key, start):
        done = _step(command, runner, tmp_path, **options)
        assert done.returncode == 0, done.stdout + done.stderr
    torch, ours = (tmp_path / "pip").read_text().splitlines()
    assert torch == "install --index-url https://index torch==2.13.0"
    assert ours == f"install {ROOT} ninja numpy setuptools pytest"
    assert re.fullmatch(r"key=torch-2\.\S+-[0-9a-f]{16}\n", (tmp_path / "output").read_text())
    exported = dict(line.split("=") for line in (tmp_path / "env").read_text().splitlines())
    assert exported == {
        "TORCHADA_SIMULATE": "1",
        "TORCHADA_SIMULATE_REQUIRED": "1",
        "MUSASIM_DEVICE_COUNT": "3",
        "MUSASIM_MEMCHECK": "1",
    }


@pytest.mark.parametrize("wrong", [{"DEVICES": "none"}, {"MEMCHECK": "yes"}])
def test_the_action_refuses_what_it_does_not_understand(
    runner: dict[str, str], tmp_path: Path, wrong: dict[str, str]
) -> None:
    *_, start = _runs(ACTION / "action.yml")
    done = _step(start, runner, tmp_path, **{"DEVICES": "1", "MEMCHECK": "false", **wrong})
    assert done.returncode == 1 and done.stdout.startswith("::error::") and not (tmp_path / "env").exists()


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="check-jsonschema belongs to the extra dev")
@pytest.mark.parametrize(("file", "schema"), [("cuda.yml", "github-workflows"), ("gitlab.yml", "gitlab-ci")])
def test_the_files_for_copying_follow_their_schema(file: str, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(EXAMPLES / file)]
    if schema == "gitlab-ci":
        command[3:3] = ["--data-transform", "gitlab-ci"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def _steps_of_image() -> list[str]:
    """What the Dockerfile runs as the user of the tests, and its command."""
    text = (EXAMPLES / "Dockerfile").read_text()
    (command,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    return [*re.findall(r"^RUN (python .*)$", text, re.MULTILINE), " ".join(json.loads(command))]


def _steps_on_gitlab() -> list[str]:
    (block,) = re.findall(r"^  script:\n(.*)", (EXAMPLES / "gitlab.yml").read_text(), re.MULTILINE | re.DOTALL)
    return re.findall(r"^    - (.*)$", block, re.MULTILINE)


@pytest.mark.full
@pytest.mark.parametrize("steps", [_steps_of_image(), _steps_on_gitlab()], ids=["Dockerfile", "gitlab.yml"])
def test_the_steps_of_an_image_and_of_gitlab(runner: dict[str, str], tmp_path: Path, steps: list[str]) -> None:
    """In the folder of a project. What would be downloaded is written down; the simulator has been compiled before."""
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLES / "projects" / "plain", folder)
    ours = {"TORCHADA_SIMULATE": "1", "TORCHADA_SIMULATE_REQUIRED": "1"}
    assert "python -m musasim build" in steps and steps[-1] == "python -m pytest --cuda-simulated"
    done = [_step(command, runner, folder, **ours) for command in steps]
    assert [step.returncode for step in done] == [0] * len(steps), done[-1].stdout + done[-1].stderr
    assert re.search(r"^=+ 2 passed in", done[-1].stdout, re.MULTILINE), done[-1].stdout
    assert len((tmp_path / "pip").read_text().splitlines()) == sum(" -m pip " in step for step in steps)


def test_all_ways_take_the_same_torch_and_the_same_variables() -> None:
    (version,) = re.findall(r'"torch==([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    workflow = ROOT / ".github" / "workflows" / f"{ACTION.name}.yml"
    for file in (ACTION / "action.yml", workflow, EXAMPLES / "gitlab.yml", EXAMPLES / "Dockerfile"):
        assert set(re.findall(r"\b2\.\d+\.\d+\b", file.read_text())) == {version}, file.name
    container = json.loads((EXAMPLES / "devcontainer.json").read_text())
    image = (EXAMPLES / "Dockerfile").read_text()
    for text in (image, (EXAMPLES / "gitlab.yml").read_text(), json.dumps(container["containerEnv"])):
        assert {"TORCHADA_SIMULATE", "TORCHADA_SIMULATE_REQUIRED"} <= set(re.findall(r"TORCHADA_\w+", text))
    assert f" AS {container['build']['target']}\n" in image


def test_the_page_and_the_report_say_the_same_of_a_green_run() -> None:
    rows = dict(re.findall(r"^\| (exact|the CPU's|not simulated) \| (.*) \|$", PAGE, re.MULTILINE))
    assert rows == {"exact": fidelity.EXACT, "the CPU's": fidelity.OF_THE_CPU, "not simulated": fidelity.NOT_SIMULATED}
    for option in re.findall(
        r"--cuda-[a-z=]+", (ROOT / "src" / "torchada" / "pytest_plugin" / "meaning.py").read_text()
    ):
        assert f"`{option}`" in PAGE.split("## What a green run means")[1]


def _steps_for(kind: str) -> list[str]:
    """The shell's lines below a heading of the page."""
    below = PAGE.split(f"\n### {kind}\n")[1].split("\n##")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```", below, re.MULTILINE | re.DOTALL)
    return block.splitlines()


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "project", "passed"),
    [
        ("Plain PyTorch", "plain", 2),
        pytest.param("An extension, by setup.py", "extension", 1, marks=pytest.mark.slow),
        pytest.param(
            "CMake",
            "cmake",
            1,
            marks=pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed"),
        ),
        pytest.param(
            "Triton",
            "triton",
            1,
            marks=pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed"),
        ),
    ],
)
def test_the_steps_for_a_kind_of_project(
    plain: Interpreter, tmp_path: Path, kind: str, project: str, passed: int
) -> None:
    """Beside the project, not in this environment, which has what the steps would download."""
    folder, site = tmp_path / project, tmp_path / "site"
    shutil.copytree(EXAMPLES / "projects" / project, folder)
    steps = [step for step in _steps_for(kind) if not re.search(r"pip install [a-z]", step)]
    assert steps[-1] == "python -m pytest --cuda-simulated"
    offline = {"PIP_TARGET": str(site), "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    start = f"import os; os.execvp('bash', ['bash', '-euc', {chr(10).join(steps)!r}])"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain.cwd = folder
    done = plain.run(["-c", start], env={**offline, "PATH": path, "PYTHONPATH": str(site)}, timeout=1800)
    assert re.search(rf"^=+ {passed} passed in", done.stdout, re.MULTILINE), done.stdout
    if project in ("extension", "triton"):  # kernels of libraries that know nothing of torch are not counted
        assert re.search(r"kernels run: +1 \(1 launch\): ", done.stdout), done.stdout
