"""The files that pages offer for copying: a workflow, a Dockerfile, a hook for pre-commit, and the list of pages for programs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import ROOT
from torchada import cli

pytestmark = pytest.mark.once

WORKFLOW = ROOT / "docs" / "examples" / "ci" / "musa.yml"
DOCKERFILE = ROOT / "docs" / "examples" / "container" / "Dockerfile"
HOOKS = ROOT / ".pre-commit-hooks.yaml"


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of `torchada` wherever a file calls it."""
    for line in re.findall(r"(?:run|entry): torchada (.*)", text):
        yield line.split()


@pytest.mark.parametrize("file", [WORKFLOW, HOOKS])
def test_the_commands_in_a_file_are_ours(file: Path) -> None:
    given = list(commands(file.read_text()))
    assert given
    for name, *options in given:
        parser = cli._parser({name: cli._load(name)}, "torchada")
        paths = [] if any(not option.startswith("-") for option in options) else ["."]
        assert parser.parse_args([name, *options, *paths]).command == name


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="check-jsonschema belongs to the extra dev")
def test_the_workflow_follows_its_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_workflow_keeps_the_folder_of_the_simulators_cache() -> None:
    text = WORKFLOW.read_text()
    assert "path: ~/.cache/musasim" in text and 'TORCHADA_SIMULATE: "1"' in text
    versions = set(re.findall(r"torch(?:==|-)(\d+\.\d+\.\d+)", text))
    assert versions == set(re.findall(r'"torch==([\d.]+)"', (ROOT / "pyproject.toml").read_text()))


def test_the_image_compiles_the_simulator_as_the_user_who_runs_the_program() -> None:
    lines = DOCKERFILE.read_text().splitlines()
    assert lines.index("USER runner") < lines.index("RUN python -m musasim build")
    entry = re.search(r"ENTRYPOINT \[(.*)\]", DOCKERFILE.read_text())
    assert entry is not None and entry[1] == '"torchada", "run", "--simulate"'
    assert not [line for line in lines if line.startswith("USER root")]


def test_the_list_of_pages_for_programs_has_every_page_of_the_site() -> None:
    site = (ROOT / "scripts" / "mkdocs.yml").read_text()
    pages = re.findall(r"^ +- (?:.*: )?([\w/.-]+\.md)$", site[site.index("nav:") :], re.MULTILINE)
    listed = re.findall(r"^- \[(.*)\]\((.*)\)$", (ROOT / "docs" / "llms.txt").read_text(), re.MULTILINE)
    assert [page for _, page in listed] == list(dict.fromkeys(pages))
    titles = {page: re.search(r"^# (.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE) for _, page in listed}
    assert {page: title for title, page in listed} == {page: match[1] for page, match in titles.items() if match}
