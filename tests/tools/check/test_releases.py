"""A check says what the release of torch_musa answers that the command, the project or the environment names."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from torchada import cli
from torchada.tools.check import check, configuration, releases

pytestmark = [pytest.mark.once]

PROGRAM = "import torch\ntorch.cuda.host_memory_stats()\ntorch.cuda.Stream()\ny = torch._int_mm(torch.ones(1), 1)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kinds(project: Path, release: str) -> list[tuple[str, str]]:
    result = check([str(project)], configuration=configuration.Configuration(torch_musa=release))
    return [(finding.kind or finding.rule, finding.name.rpartition(".")[2]) for finding in result.findings]


@pytest.mark.parametrize(
    ("release", "memory", "operator"),
    [("2.7.1", "unsupported", True), ("2.9.1", "same", False), ("2.11.0", "same", True)],
)
def test_answers_are_those_of_the_release(project: Path, release: str, memory: str, operator: bool) -> None:
    expected = [(memory, "host_memory_stats"), ("same", "Stream"), *[("vendor-operator", "_int_mm")] * operator]
    assert kinds(project, release) == expected


def test_the_option_goes_before_the_table_and_the_table_before_what_is_installed(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: {"torch_musa": "2.9.0"}[name])
    assert cli.main(["check", "."]) == 1
    assert "torch_musa 2.7.1\n" in capsys.readouterr().out
    (project / "pyproject.toml").write_text("[tool.torchada.check]\ntorch-musa = '2.9.1'\n")
    assert cli.main(["check", "."]) == 0
    assert "torch_musa 2.9.1.post1\n" in capsys.readouterr().out
    assert cli.main(["check", ".", "--torch-musa", "2.11.0"]) == 0
    assert "torch_musa 2.11.0.post2\n" in capsys.readouterr().out


def test_a_release_that_is_not_known_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["check", ".", "--torch-musa", "2.10"])
    assert "--torch-musa: expected 2.7.1, 2.9.1, 2.11.0, got '2.10'" in capsys.readouterr().err


def test_the_help_names_the_releases(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["check", "--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    assert f"{', '.join(releases.RELEASES[:-1])} or {releases.NEWEST}" in help_text


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("2.1.0", "2.7.1"),
        ("2.7.1+gitabc", "2.7.1"),
        ("2.9.0", "2.7.1"),
        ("2.9.1.post1", "2.9.1"),
        ("2.10.0", "2.9.1"),
        ("2.11.0.post2", "2.11.0"),
        ("3.0", "2.11.0"),
        ("", "2.11.0"),
        ("unknown", "2.11.0"),
    ],
)
def test_a_version_belongs_to_a_release(version: str, release: str) -> None:
    assert releases.belonging_to(version) == release


def test_without_torch_musa_the_newest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    assert releases.installed() == "2.11.0"
