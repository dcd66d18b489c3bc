"""Who asks, by the package that a file belongs to when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check.conftest import Project
from torchada.tools.check import check

pytestmark = pytest.mark.once

QUESTION = "import torch\ntorch.cuda.is_available()\n"


def test_the_view_is_that_of_the_package(project: Project) -> None:
    result = project(
        {
            "knows/__init__.py": "import torch_musa",
            "knows/inner/__init__.py": "",
            "knows/inner/a.py": QUESTION,
            "plain/__init__.py": "",
            "plain/a.py": QUESTION,
            "script.py": QUESTION,
            "musa_script.py": QUESTION + "torch.musa",
        }
    )
    views = {each.file: each.view for each in result.findings}
    assert views == {
        "knows/inner/a.py": "musa",
        "plain/a.py": "cuda",
        "script.py": "cuda",
        "musa_script.py": "musa",
    }
    assert {(view.package, view.sees_cuda) for view in result.views} == {
        ("knows", False), ("plain", True), ("script.py", True), ("musa_script.py", False),
    }  # fmt: skip
    assert "knows/__init__.py:1 says torch_musa" in next(
        each.message for each in result.findings if each.view == "musa"
    )


def test_a_folder_without_an_init_belongs_to_the_package_above_it(project: Project) -> None:
    files = {
        "knows/__init__.py": "import torch_musa",
        "knows/inner/more/__init__.py": "",
        "knows/inner/more/a.py": QUESTION,
    }
    (found,) = project({**files, "knows/not-a-module/b.py": QUESTION}).findings[:1]
    assert (found.file, found.view) == ("knows/inner/more/a.py", "musa")
    assert [(each.package, each.sees_cuda) for each in project({}).views] == [
        ("knows", False),
        ("knows/not-a-module/b.py", True),
    ]


@pytest.mark.parametrize("part", ["knows", "knows/inner", "knows/inner/more", "knows/inner/more/a.py"])
def test_a_part_of_a_package_is_answered_as_the_package(project: Project, tmp_path: Path, part: str) -> None:
    project(
        {
            "knows/__init__.py": "import torch_musa",
            "knows/inner/more/__init__.py": "",
            "knows/inner/more/a.py": QUESTION,
        }
    )
    result = check([str(tmp_path / "project" / part)])
    assert [each.view for each in result.findings] == ["musa"]
    assert "__init__.py:1 says torch_musa" in result.findings[0].message


def test_what_is_left_out_may_mention_the_backend(project: Project) -> None:
    files = {"knows/__init__.py": "", "knows/a.py": QUESTION, "knows/b.py": "import torch_musa"}
    assert [each.view for each in project(files, exclude=("knows/b.py",)).findings] == ["musa"]


def test_a_package_with_a_row_is_known_where_it_is_the_root(project: Project, tmp_path: Path) -> None:
    files = {
        "vllm/__init__.py": "",
        "vllm/a.py": QUESTION,
        "xformers/core/__init__.py": "",
        "xformers/core/a.py": QUESTION,
    }
    assert {each.file: each.view for each in project(files).findings} == {
        "vllm/a.py": "musa",
        "xformers/core/a.py": "musa",
    }
    result = check([str(tmp_path / "project" / "vllm")])
    assert [(each.package, each.sees_cuda) for each in result.views] == [("vllm", False)]
