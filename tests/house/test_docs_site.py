"""The hook that mkdocs runs on the links of each page. `scripts/docs.sh` builds the site, and checks the rest."""

from __future__ import annotations

import importlib.util
import logging
from types import ModuleType, SimpleNamespace

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

DOCS = ROOT / "docs"
ADDRESS = "https://github.com/MooreThreads/torchada"


@pytest.fixture
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_links", ROOT / "scripts" / "docs_links.py")
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
