"""Sources are searched for MUSA in folders and zip files, within bounds, whatever lies there."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from torchada.views import patterns, sources
from torchada.views.sources import Mention

pytestmark = pytest.mark.once


@pytest.fixture(params=["the C library", "Python"], autouse=True)
def search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of searching bytes."""
    if request.param == "Python":
        monkeypatch.setattr(patterns, "_memmem", lambda: None)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("import torch_musa", "torch_musa"),
        ("torch.musa.synchronize()", "torch.musa"),
        ("if is_musa():", "is_musa"),
        ("device in ('musa', 'npu')", "musa"),
        ('device == "musa"', "musa"),
        ("of = {'MooreThreads': 1}", "MooreThreads"),
        ('torch.device("musa:1")', "musa:1"),
        ('f"musa:{rank}"', "musa"),
        ("torch.version.musa", "version.musa"),
        ("from x import is_musa_available", "is_musa_available"),
        ("from x import is_torch_musa_available", "is_torch_musa_available"),
        ("torchada.is_musa_platform()", "is_musa_platform"),
        ("torchada.get_platform() == x", "torchada.get_platform"),
        ("from torchada import Platform", "torchada import Platform"),
        ("x = '''import torch_musa'''", "torch_musa"),
        ("x = '#'; import torch_musa", "torch_musa"),
    ],
)
def test_a_whole_word_is_a_mention(tmp_path: Path, text: str, word: str) -> None:
    file = tmp_path / "a.py"
    file.write_text(f"x = 1\n\n{text}\n")
    assert sources.find([str(tmp_path)]) == Mention(str(file), 3, word)


@pytest.mark.parametrize(
    "text",
    [
        "import torchada",
        "import torchada; torchada.set_view('x', 'cuda')",
        "from torchada import UnsupportedError",
        "# import torch_musa",
        "x = 1  # for 'musa', see github.com/MooreThreads",
        'def f():\n    """For torch_musa\n    and \'musa\'."""',
        "'''It runs on \"musa\"'''",
        'x = "it\'s"  # torch.musa',
    ],
)
def test_what_does_not_ask_for_the_backend_is_no_mention(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)
    assert sources.find([str(tmp_path)]) is None


@pytest.mark.parametrize("text", ["setNumThreads(mthreads)", "musang", "is_musat", "my_torch_musa_x", "musa", "#musa"])
def test_bare_letters_are_no_mention(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)
    assert sources.find([str(tmp_path)]) is None


def test_python_sources_alone_are_searched(tmp_path: Path) -> None:
    for name in ("a.txt", "b.pyc", "c.cu", "d.py.bak", "__pycache__/e.py", "not-a-package/f.py", ".venv/g.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import torch_musa")
    assert sources.find([str(tmp_path), str(tmp_path / "a.txt")]) is None
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "h.py").write_text("import torch_musa")
    assert sources.find([str(tmp_path)]) is not None


def test_a_mention_beyond_the_buffer_is_found(tmp_path: Path) -> None:
    text = "#" * sources._BUFFER
    (tmp_path / "a.py").write_text(f"{text[:-5]}\nimport torch_musa")
    assert sources.find([str(tmp_path)]) == Mention(str(tmp_path / "a.py"), 2, "torch_musa")


def test_what_an_earlier_file_left_in_the_buffer_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" + "#" * 100 + "setNumTorch_musang")
    (tmp_path / "b.py").write_text("x = 1")
    assert sources.find([str(tmp_path)]) is None


@pytest.mark.parametrize("name", ["_FILES", "_BYTES", "_ENTRIES"])
def test_the_search_ends_at_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for number in range(9):
        (tmp_path / f"a{number}.py").write_text("pass")
    (tmp_path / "b.py").write_text("import torch_musa")
    monkeypatch.setattr(sources, name, 40)
    assert sources.find([str(tmp_path)]) is not None
    monkeypatch.setattr(sources, name, 9)
    if name == "_ENTRIES":
        order = [entry.name for entry in os.scandir(tmp_path)]
        assert (sources.find([str(tmp_path)]) is None) == (order.index("b.py") == 9)
    else:
        assert sources.find([str(tmp_path)]) is None


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    (tmp_path / "b.py").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "c.py").mkdir()
    (tmp_path / "d.py").write_bytes(b"\xff\x00 'musa'")
    assert sources.find([str(tmp_path / "gone"), "", str(tmp_path)]) == Mention(str(tmp_path / "d.py"), 1, "musa")


def test_a_file_that_one_may_not_read_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("import torch_musa")
    opened = os.open

    def refuse(file: str, flags: int) -> int:
        if file.endswith("a.py"):
            raise PermissionError(file)
        return opened(file, flags)

    monkeypatch.setattr(os, "open", refuse)
    assert sources.find([str(tmp_path)]) == Mention(str(tmp_path / "b.py"), 1, "torch_musa")


def test_a_package_in_a_zip_file_is_searched(tmp_path: Path) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("pack/__init__.py", "")
        opened.writestr("pack/deep/a.py", "\nimport torch_musa")
        opened.writestr("packet/a.py", "import torch_musa")
        opened.writestr("alone.py", "'musa'")
    assert sources.find([f"{archive}/pack"]) == Mention(f"{archive}/pack/deep/a.py", 2, "torch_musa")
    assert sources.find([f"{archive}/alone.py"]) == Mention(f"{archive}/alone.py", 1, "musa")
    assert sources.find([f"{archive}/pack/deep/b"]) is None
    assert sources.exists(f"{archive}/pack") and not sources.exists(str(tmp_path / "gone"))


def test_a_damaged_zip_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "all.zip").write_bytes(b"PK\x03\x04 import torch_musa")
    assert sources.find([f"{tmp_path}/all.zip/pack"]) is None
