"""The files at the top that tools and sites read say the same as the files that they repeat."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from support.interpreter import ROOT
from torchada import __version__

pytestmark = pytest.mark.once

DOCKERFILE = (ROOT / ".devcontainer" / "Dockerfile").read_text()


def _commands_of_the_readme() -> list[str]:
    return re.findall(r"^```sh\n(.*?)\n```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[:2]


def test_the_container_runs_the_two_commands_of_the_readme() -> None:
    """The last stage: the first command while the image is built, the second when it is started."""
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    (built,) = re.findall(r"^RUN (.*)$", last, re.MULTILINE)
    (started,) = re.findall(r"^CMD (.*)$", last, re.MULTILINE)
    assert [built, " ".join(json.loads(started))] == _commands_of_the_readme()


def test_an_editor_takes_the_container_of_the_readme() -> None:
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert f" AS {settings['build']['target']}\n" in DOCKERFILE
    command = settings["postCreateCommand"].split()[0]
    assert command in _commands_of_the_readme()[1]


def test_the_citation_is_of_this_version() -> None:
    citation = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    project = (ROOT / "pyproject.toml").read_text()
    assert citation["version"] == __version__
    assert f'description = "{citation["abstract"]}"' in project and f'license = "{citation["license"]}"' in project
    assert f'Source = "{citation["repository-code"]}"' in project


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="check-jsonschema belongs to the extra dev")
def test_the_citation_follows_its_schema() -> None:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.citation-file-format",
        "CITATION.cff",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
