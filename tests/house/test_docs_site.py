"""The hook that mkdocs runs on the links of each page, and the list of the site's versions. `scripts/docs.sh` checks the rest."""

from __future__ import annotations

import importlib.util
import json
import logging
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

DOCS = ROOT / "docs"
ADDRESS = "https://github.com/MooreThreads/torchada"


@pytest.fixture
def hook() -> ModuleType:
    return _script("docs_links")


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _shown(hook: ModuleType, markdown: str) -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="explanation/simulator.md"))
    site = SimpleNamespace(docs_dir=str(DOCS), repo_url=ADDRESS)
    shown: str = hook.on_page_markdown(markdown, page=page, config=site, files=None)
    return shown


def test_a_link_to_a_file_of_the_repository_leads_to_the_hosting_site(hook: ModuleType) -> None:
    assert _shown(hook, "[a](../../README.md#b)") == f"[a]({ADDRESS}/blob/main/README.md#b)"
    assert _shown(hook, "[a](../../src/musasim)") == f"[a]({ADDRESS}/tree/main/src/musasim)"
    assert _shown(hook, "[a](../support.toml)") == f"[a]({ADDRESS}/blob/main/docs/support.toml)"


def test_a_link_within_the_documentation_stays(hook: ModuleType) -> None:
    for link in ("[a](../reference/cli.md)", "[a](simulator.md#b)", f"[a]({ADDRESS})", "f[i](x), [](int a)"):
        assert _shown(hook, link) == link


def test_a_link_to_a_missing_file_is_a_warning(hook: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="mkdocs"):
        _shown(hook, "[a](../../src/nowhere.py)")
    assert "src/nowhere.py, which does not exist" in caplog.text


def test_versions_are_listed_and_the_newest_release_is_the_latest(tmp_path: Path) -> None:
    site_versions = _script("site_versions")
    for version in ("main", "0.9", "0.10", "0.2"):
        assert site_versions.main([str(tmp_path), version]) == 2, "its pages are not there"
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").write_text("")
        assert site_versions.main([str(tmp_path), version]) == 0
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [(entry["version"], entry["aliases"]) for entry in listed] == [
        ("main", []),
        ("0.10", ["latest"]),
        ("0.9", []),
        ("0.2", []),
    ]
    assert 'url=0.10/"' in (tmp_path / "index.html").read_text()


def test_a_version_that_was_removed_is_listed_no_more(tmp_path: Path) -> None:
    site_versions = _script("site_versions")
    for version in ("0.1", "0.2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").write_text("")
        assert site_versions.main([str(tmp_path), version]) == 0
    (tmp_path / "0.1" / "index.html").unlink()
    (tmp_path / "0.1").rmdir()
    assert site_versions.main([str(tmp_path), "0.2"]) == 0
    assert [entry["version"] for entry in json.loads((tmp_path / "versions.json").read_text())] == ["0.2"]
