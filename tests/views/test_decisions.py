"""Each package gets one view: by the user's word, a row, its sources. Torch and the standard library may ask for others."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from torchada.base.settings import Settings
from torchada.views import Views, decider, source_cache, sources, view
from torchada.views.askers_for_others import ON_BEHALF, asks_on_behalf
from torchada.views.by_name import BACKEND, CUDA

pytestmark = pytest.mark.once


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def views(cache: Path) -> Views:
    return Views(Settings(strict=True, cache=str(cache)), "torch_musa")


def module(name: str, folder: Path, text: str = "") -> dict[str, Any]:
    """Globals of a script in `folder` with this text, or of a module with another name."""
    file = folder / f"{name.strip('_')}.py"
    file.write_text(text)
    return {"__name__": name, "__file__": str(file)}


def with_settings(views: Views, **settings: Any) -> Views:
    return Views(Settings(**{**views._settings.values, **settings}), "torch_musa", state=views.state)


def test_code_that_does_not_mention_musa_sees_cuda(views: Views, tmp_path: Path) -> None:
    names = module("__main__", tmp_path, "import torch")
    assert views.sees_cuda(names)
    assert views.decisions == {names["__file__"]: (True, "it does not mention MUSA")}
    assert views.table == {names["__file__"]: True}


def test_code_that_mentions_musa_sees_it_and_the_place_is_named(views: Views, tmp_path: Path) -> None:
    names = module("__main__", tmp_path, "import torch\nimport torch_musa")
    assert not views.sees_cuda(names)
    assert views.decisions[names["__file__"]].why == f"{names['__file__']}:2 says torch_musa"


@pytest.mark.parametrize("name", ["torch.nn", "torch_musa.core", "torchada.redirect", "musasim"])
def test_torch_and_its_adapter_see_the_backend_whatever_the_user_says(views: Views, name: str) -> None:
    assert not with_settings(views, view="cuda").sees_cuda({"__name__": name})


def test_the_users_word_comes_before_rows_and_sources(views: Views, tmp_path: Path) -> None:
    script = module("__main__", tmp_path, "import torch_musa")
    assert with_settings(views, view="cuda").sees_cuda(script)
    assert with_settings(views, cuda_view=frozenset({"__main__"})).sees_cuda(script)
    assert with_settings(views, cuda_view=frozenset({"xformers"})).sees_cuda({"__name__": "xformers.ops"})
    assert not with_settings(views, musa_view=frozenset({"mine"})).sees_cuda({"__name__": "mine"})
    assert not with_settings(views, view="musa").sees_cuda({})
    assert with_settings(views, view="musa", cuda_view=frozenset({"mine"})).sees_cuda({"__name__": "mine"})


def test_set_view_is_stronger_than_the_environment(views: Views) -> None:
    views.state.choose("mine", "cuda")
    assert with_settings(views, musa_view=frozenset({"mine"})).sees_cuda({"__name__": "mine.part"})


def test_rows_are_valid_and_each_has_a_reason(views: Views) -> None:
    assert not BACKEND.keys() & CUDA.keys()
    for name, why in {**BACKEND, **CUDA}.items():
        assert views.sees_cuda({"__name__": f"{name}.part"}) is (name in CUDA)
        assert views.decisions[name].why == why and len(why) > 20


def test_a_part_of_a_package_may_have_a_row_of_its_own(views: Views) -> None:
    assert views.sees_cuda({"__name__": "optimum.gptq"})
    assert not views.sees_cuda({"__name__": "optimum.quanto.tensor"})


def test_what_a_program_says_holds_at_once_and_until_it_is_taken_back(views: Views, tmp_path: Path) -> None:
    names = module("__main__", tmp_path, "import torch")
    assert views.sees_cuda(names)
    views.state.choose("__main__", "musa")
    assert not views.sees_cuda(names) and views.decisions[names["__file__"]].why == "torchada.set_view"
    views.state.choose("__main__", None)
    assert views.sees_cuda(names)


def test_what_is_said_while_a_question_is_being_decided_holds_afterwards(views: Views, tmp_path: Path) -> None:
    names = module("mine", tmp_path, "import torch")
    decider = views.state.decisive()
    assert decider.view_of(names) and views.table
    views.state.choose("mine", "musa")
    assert decider.view_of(names), "whoever was asking gets the answer to its question"
    assert not views.table and not views.sees_cuda(names) and not views.table[names["__file__"]]


def test_the_views_that_were_made_last_are_in_force_for_patches_that_hold_others(views: Views) -> None:
    assert views.sees_cuda({"__name__": "mine"})
    with_settings(views, view="musa")
    assert not views.sees_cuda({"__name__": "mine"})


@pytest.mark.parametrize(
    ("settings", "told"), [({}, False), ({"view": "cuda"}, True), ({"musa_view": {"mine"}}, False)]
)
def test_code_is_told_cuda_by_what_was_said_and_not_by_its_sources(
    views: Views, settings: dict[str, Any], told: bool
) -> None:
    assert with_settings(views, **settings).is_told_cuda({"__name__": "mine"}) is told
    assert views.is_told_cuda({"__name__": "unsloth.part"}), "a row says so"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The tests of a project whose package `pack` knows MUSA."""
    package, tests = tmp_path / "src" / "pack", tmp_path / "tests"
    for folder in (package, tests):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text("import torch_musa")
    (tmp_path / "pyproject.toml").touch()
    return tests


def test_tests_of_a_project_are_judged_with_its_package(views: Views, project: Path) -> None:
    names = module("test_pack", project)
    assert not views.sees_cuda(names)
    why = f"it belongs to the project of pack: {Path('pack', '__init__.py')}:1 says torch_musa"
    assert views.decisions[names["__file__"]].why == why
    assert with_settings(views, cuda_view=frozenset({"pack"})).sees_cuda(names)


def test_scripts_beside_a_package_are_judged_by_themselves(views: Views, project: Path) -> None:
    assert views.sees_cuda(module("train", project.parent))
    (project.parent / "pyproject.toml").unlink()
    assert views.sees_cuda(module("test_pack", project))


def test_an_error_shows_cuda_and_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(view, "warn_once", said.append)
    monkeypatch.setattr(decider, "asker", lambda namespace: 1 / 0)
    assert Views(Settings(), "torch_musa").sees_cuda({"__name__": "mine"})
    assert said == ["who asks cannot be found out, so mine sees CUDA: ZeroDivisionError: division by zero"]
    with pytest.raises(ZeroDivisionError):
        Views(Settings(strict=True), "torch_musa").sees_cuda({"__name__": "mine"})


def defined(code: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function `f` that `code` defines in the module whose globals are `names`."""
    exec(code, names)
    return names["f"]  # type: ignore[no-any-return]


class Device:
    """A value whose text depends on who asks, as that of a torch.device does."""

    def __init__(self, views: Views) -> None:
        self.views = views

    def __str__(self) -> str:
        frame: FrameType | None = sys._getframe(1)
        assert frame is not None
        return "cuda" if self.views.sees_cuda(frame.f_globals) else "musa"


def test_the_standard_library_asks_for_the_code_that_calls_it(views: Views, tmp_path: Path) -> None:
    device = Device(views)
    code = "import json\ndef f(device): return json.dumps([device], default=str)"
    knows, does_not = (
        module("__main__", tmp_path, "import torch_musa"),
        {"__name__": "of_cuda"},
    )
    assert defined(code, does_not)(device) == '["cuda"]'
    assert defined(code, knows)(device) == '["musa"]'
    assert defined(code, {"__name__": "torch.nn"})(device) == '["musa"]'


def test_a_line_of_the_log_says_what_the_code_that_logs_it_sees(views: Views, tmp_path: Path) -> None:
    log, text = logging.Logger("views"), io.StringIO()
    log.addHandler(logging.StreamHandler(text))
    code = "def f(log, device): log.warning('on %s', device)"
    defined(code, {"__name__": "of_cuda"})(log, Device(views))
    defined(code, module("__main__", tmp_path, "import torch_musa"))(log, Device(views))
    assert text.getvalue() == "on cuda\non musa\n"


@pytest.mark.parametrize("name", ON_BEHALF)
def test_modules_of_torch_that_ask_for_the_program_get_its_view(views: Views, tmp_path: Path, name: str) -> None:
    ask = defined("def f(views): return views.sees_cuda(globals())", {"__name__": f"{name}.part"})
    call = "def f(ask, views): return ask(views)"
    assert defined(call, {"__name__": "of_cuda"})(ask, views)
    assert not defined(call, module("__main__", tmp_path, "import torch_musa"))(ask, views)


def test_a_module_asks_on_behalf_by_its_whole_name() -> None:
    assert asks_on_behalf("torch.testing._internal.common_cuda") and not asks_on_behalf("torch.testing2")
    assert not asks_on_behalf("torch") and not asks_on_behalf("")


def test_a_thread_of_the_standard_library_gets_the_view_of_the_program_that_was_started(
    views: Views, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import threading as standard

    found: list[bool] = []

    def ask(text: str) -> None:
        main = type(sys)("__main__")
        vars(main).update(module("__main__", tmp_path, text))
        monkeypatch.setitem(sys.modules, "__main__", main)
        code = "def f(views, found): found.append(views.sees_cuda(globals()))"
        exec(code, names := {"__name__": "threading", "__file__": standard.__file__})
        thread = threading.Thread(target=names["f"], args=(views, found))
        thread.start()
        thread.join()
        views.state.choose("__main__", None)

    ask("import torch")
    ask("import torch_musa")
    assert found == [True, False]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package `pack` in a folder of site-packages, with its metadata."""
    package = tmp_path / "site" / "pack"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import torch")
    metadata = tmp_path / "site" / "Pack-1.0.dist-info"
    metadata.mkdir()
    (metadata / "RECORD").write_text("pack/__init__.py,,\n")
    return package


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The places that were searched."""
    found: list[object] = []
    find = sources.find

    def counted(places: tuple[str, ...], *words: sources.Words) -> Any:
        found.append(places)
        return find(places, *words)

    monkeypatch.setattr(sources, "find", counted)
    return found


def test_an_installed_package_is_searched_once(installed: Path, cache: Path, searches: list[object]) -> None:
    for _ in range(3):
        assert source_cache.find((str(installed),), str(cache)) is None
    assert len(searches) == 1


def test_what_was_found_is_remembered_with_its_place(installed: Path, cache: Path, searches: list[object]) -> None:
    (installed / "a.py").write_text("\nimport torch_musa")
    found = [source_cache.find((str(installed),), str(cache)) for _ in range(2)]
    assert found == [(str(installed / "a.py"), 2, "torch_musa")] * 2 and len(searches) == 1


def test_a_package_that_is_installed_anew_is_searched_again(installed: Path, cache: Path) -> None:
    assert source_cache.find((str(installed),), str(cache)) is None
    (installed / "a.py").write_text("import torch_musa")
    assert source_cache.find((str(installed),), str(cache)) is None
    (installed.parent / "Pack-1.0.dist-info" / "RECORD").write_text("pack/__init__.py,,\npack/a.py,,\n")
    assert source_cache.find((str(installed),), str(cache)) is not None
    (installed.parent / "Pack-1.0.dist-info").rename(installed.parent / "Pack-2.0.dist-info")
    (installed / "a.py").unlink()
    assert source_cache.find((str(installed),), str(cache)) is None


def test_a_distribution_with_another_name_is_found_by_what_it_lists(
    installed: Path, cache: Path, searches: list[object]
) -> None:
    (installed.parent / "Pack-1.0.dist-info").rename(installed.parent / "open_pack_torch-1.0.dist-info")
    for _ in range(2):
        source_cache.find((str(installed),), str(cache))
    assert len(searches) == 1


def test_projects_and_scripts_are_searched_each_time(installed: Path, cache: Path, searches: list[object]) -> None:
    (installed.parent / "Pack-1.0.dist-info" / "RECORD").write_text("__editable__.pack.pth,,\n")
    for _ in range(2):
        source_cache.find((str(installed),), str(cache))
        source_cache.find((str(installed / "__init__.py"),), str(cache))
    assert len(searches) == 4
    assert not list((cache / "views").iterdir())


def test_without_a_folder_for_the_cache_the_sources_are_searched(installed: Path, searches: list[object]) -> None:
    for _ in range(2):
        assert source_cache.find((str(installed),), "/proc/nowhere") is None
    assert len(searches) == 2


def test_a_damaged_entry_is_searched_and_written_again(installed: Path, cache: Path, searches: list[object]) -> None:
    source_cache.find((str(installed),), str(cache))
    (entry,) = (cache / "views").iterdir()
    (entry / "found.json").write_text(json.dumps({"mention": ["a", 1, "musa"]}))
    assert source_cache.find((str(installed),), str(cache)) is None
    assert source_cache.find((str(installed),), str(cache)) is None
    assert len(searches) == 2
