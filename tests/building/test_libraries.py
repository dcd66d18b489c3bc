"""The libraries that builds translate and leave out, beside what the porter knows of the same libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.toolkits import musa
from torchada.building.libraries import ABSENT, is_of_cuda, linked, linker_flags
from torchada.building.toolkit import Toolkit
from torchada.porting import port_source
from torchada.porting.rules.build import LINKED_LIBRARIES

pytestmark = pytest.mark.once

# A function of each library that is left out. Those without one are parts of NVIDIA's compiler, or headers alone.
CALLED = {
    "nvToolsExt": "nvtxMarkA",
    "nvtx3interop": "nvtxMarkA",
    "nvptxcompiler": "nvPTXCompilerCreate",
    "nvJitLink": "nvJitLinkCreate",
    "nvidia-ml": "nvmlInit",
    "cusparseLt": "cusparseLtInit",
}
WITHOUT_FUNCTIONS = {"cudadevrt", "culibos", "cudnn_frontend"}


@pytest.fixture
def whole(tmp_path: Path) -> Toolkit:
    """A toolkit that has every library the porter knows."""
    (tmp_path / "lib").mkdir()
    for own in LINKED_LIBRARIES.values():
        (tmp_path / "lib" / f"lib{own}.so").touch()
    return musa(str(tmp_path))


@pytest.mark.parametrize("name", LINKED_LIBRARIES)
@pytest.mark.parametrize("end", ["", "_static", "_static_nocallback"])
def test_a_build_links_what_the_porter_says(name: str, end: str, whole: Toolkit) -> None:
    own = LINKED_LIBRARIES[name]
    assert linked([name + end], whole) == ([own], [])
    assert linker_flags([f"-l{name}{end}", f"-Wl,-l{name}{end}"], whole) == ([f"-l{own}", f"-Wl,-l{own}"], [])


@pytest.mark.parametrize("name", LINKED_LIBRARIES)
def test_a_build_without_the_counterpart_says_which_one_is_missing(name: str, tmp_path: Path) -> None:
    bare = musa(str(tmp_path))
    own = LINKED_LIBRARIES[name]
    names, notices = linked([name], bare)
    if own == bare.runtime:  # nothing is built without it
        assert (names, notices) == ([own], [])
    else:
        why = f"on MUSA it is {own}, and there is no lib{own} in {bare.library_folder()}"
        assert (names, notices) == ([], [f"library {name} is left out: {why}"])


@pytest.mark.parametrize("name", ABSENT)
@pytest.mark.parametrize("end", ["", "_static"])
def test_what_is_left_out_has_no_counterpart_for_the_porter(name: str, end: str, whole: Toolkit) -> None:
    assert is_of_cuda(name + end)
    assert linked([name + end], whole) == ([], [f"library {name}{end} is left out: {ABSENT[name]}"])
    assert name not in LINKED_LIBRARIES


@pytest.mark.parametrize("name", CALLED)
def test_the_porter_leaves_the_functions_of_what_is_left_out(name: str) -> None:
    source = f"{CALLED[name]}();".encode()
    assert port_source(source).text == source


def test_each_library_that_is_left_out_is_compared() -> None:
    assert CALLED.keys() | WITHOUT_FUNCTIONS == ABSENT.keys()
