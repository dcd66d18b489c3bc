"""Who asks is told from globals: scripts, modules, packages in every state, and code that has no name."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from torchada.views.asker import Asker, asker, is_one, is_standard
from torchada.views.asking import key_of

pytestmark = pytest.mark.once


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package `pack` with a module `inner.part`, imported."""
    folder = tmp_path / "pack" / "inner"
    folder.mkdir(parents=True)
    for file in (tmp_path / "pack" / "__init__.py", folder / "__init__.py", folder / "part.py"):
        file.write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    import importlib

    importlib.import_module("pack.inner.part")
    return sys.modules["pack"]


def globals_of(name: str) -> dict[str, Any]:
    return vars(sys.modules[name])


def test_a_module_belongs_to_its_top_level_package(package: ModuleType, tmp_path: Path) -> None:
    expected = Asker("pack.inner.part", "pack", (str(tmp_path / "pack"),))
    assert asker(globals_of("pack.inner.part")) == expected
    assert asker(vars(package)) == Asker("pack", "pack", expected.sources)


@pytest.mark.parametrize("name", ["pack", "pack.inner", "pack.inner.part"])
def test_a_package_that_was_removed_from_sys_modules_is_found_by_its_place(
    package: ModuleType, tmp_path: Path, name: str
) -> None:
    namespace = globals_of(name)
    for each in ("pack", "pack.inner", "pack.inner.part"):
        del sys.modules[each]
    assert asker(namespace) == Asker(name, "pack", (str(tmp_path / "pack"),))


def test_a_namespace_package_has_all_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("one", "two"):
        (tmp_path / part / "space").mkdir(parents=True)
        (tmp_path / part / "space" / f"{part}.py").write_text("")
        monkeypatch.syspath_prepend(str(tmp_path / part))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    import space.one  # type: ignore[import-not-found]

    who = asker(vars(space.one))
    assert who.package == "space" and set(who.sources) == {str(tmp_path / part / "space") for part in ("one", "two")}


def test_a_lazy_module_in_sys_modules_is_not_asked_for_attributes(package: ModuleType, tmp_path: Path) -> None:
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"{name} would be imported")

    lazy = Lazy("pack")
    lazy.__path__ = [str(tmp_path / "pack")]
    sys.modules["pack"] = lazy
    assert asker(globals_of("pack.inner.part")).sources == (str(tmp_path / "pack"),)


def test_an_object_without_a_dictionary_in_sys_modules_is_passed_over(package: ModuleType, tmp_path: Path) -> None:
    sys.modules["pack"] = 3  # type: ignore[assignment]
    assert asker(globals_of("pack.inner.part")).sources == (str(tmp_path / "pack"),)


def test_two_files_that_share_a_name_are_told_apart() -> None:
    first, second = ({"__name__": "plugin", "__file__": f"/{folder}/plugin.py"} for folder in "ab")
    assert asker(first).package == "/a/plugin.py" and asker(second).package == "/b/plugin.py"
    assert key_of(first) != key_of(second)
    assert asker(first).names == ("/a/plugin.py", "plugin")


def test_a_script_is_its_file_and_the_child_of_multiprocessing_the_same() -> None:
    script = {"__name__": "__main__", "__file__": "/a/train.py", "__spec__": None}
    assert asker(script) == Asker("__main__", "/a/train.py", ("/a/train.py",))
    assert asker({**script, "__name__": "__mp_main__"}) == asker(script)
    assert key_of(script) == "/a/train.py" and is_one(script)


def test_a_module_that_runs_by_m_belongs_to_its_package(package: ModuleType, tmp_path: Path) -> None:
    namespace = {"__name__": "__main__", "__spec__": sys.modules["pack.inner.part"].__spec__, "__file__": "part.py"}
    assert asker(namespace) == Asker("pack.inner.part", "pack", (str(tmp_path / "pack"),))


def test_a_profiler_that_runs_a_script_gives_it_a_specification_of_main() -> None:
    from importlib.machinery import ModuleSpec

    namespace = {"__name__": "__main__", "__spec__": ModuleSpec("__main__", None), "__file__": "/a/train.py"}
    assert asker(namespace).package == "/a/train.py"


def test_a_notebook_has_the_text_of_its_cells() -> None:
    namespace = {"__name__": "__main__", "In": ["", "import torch_musa", "x = 1"]}
    assert asker(namespace).text == "\nimport torch_musa\nx = 1"


def test_code_without_a_name_is_its_file_or_nothing() -> None:
    assert asker({}) == Asker("", "", ())
    assert asker({"__name__": 7}) == Asker("", "", ())
    assert asker({"__file__": "/a/conf.py"}) == Asker("", "/a/conf.py", ("/a/conf.py",))
    assert asker({"__name__": "<run_path>", "__file__": "/a/conf.py"}) == asker({"__file__": "/a/conf.py"})
    assert is_one({}) and not is_one({"__name__": "mine"})


def test_each_module_of_downloaded_models_is_a_program_of_its_own() -> None:
    name = "transformers_modules.someone.model"
    assert asker({"__name__": name, "__file__": "/cache/model.py"}) == Asker(name, name, ("/cache/model.py",))


def test_a_part_of_a_namespace_that_has_a_row_is_a_package_of_its_own() -> None:
    assert asker({"__name__": "optimum.quanto.library"}).package == "optimum.quanto"
    assert asker({"__name__": "optimum.quantofold"}).package == "optimum"


def test_a_users_module_that_is_called_like_one_of_the_standard_library_is_the_users(tmp_path: Path) -> None:
    import json.encoder

    assert is_standard(asker(vars(json.encoder)))
    assert not is_standard(asker({"__name__": "code", "__file__": str(tmp_path / "code.py")}))
    site = f"{Path(json.__file__).parent.parent}/site-packages/code.py"
    assert not is_standard(Asker("code", "code", (site,)))
