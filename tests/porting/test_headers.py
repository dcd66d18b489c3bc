"""Includes of PyTorch's CUDA headers lead where torch_musa's own porting tool leads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import ROOT
from torchada.building.stable_abi import stable_include_dir
from torchada.porting import Names, port_file, port_source, port_tree
from torchada.porting.includes import lost

pytestmark = pytest.mark.once


def _targets() -> dict[str, str]:
    targets, folder = {}, ""
    for line in Path(__file__).with_name("torch_headers.txt").read_text(encoding="utf-8").splitlines():
        if " -> " in line:
            targets.update([line.split(" -> ")])
        elif line.startswith("  "):
            targets.update((f"{folder}/{name}", _plain(f"{folder}/{name}")) for name in line.split())
        elif not line.startswith("#"):
            folder = line
    return targets


def _plain(path: str) -> str:
    return path.replace("cuda/", "musa/").replace("CUDA", "MUSA").replace(".cuh", ".muh")


TARGETS = _targets()
# The tool leads to headers that declare CUDAEvent and CUDAGraph, and the porter to those of MUSAEvent and MUSAGraph.
WRITTEN_ANEW = {
    "ATen/cuda/CUDAEvent.h": "torch_musa/csrc/core/MUSAEvent.h",
    "ATen/cuda/CUDAGraph.h": "torch_musa/csrc/aten/musa/MUSAGraph.h",
}


def test_every_header_leads_where_the_vendors_tool_leads_it() -> None:
    names = Names()
    found = {path: answer and answer.name for path in TARGETS for answer in [names.header(path)]}
    assert found == {**TARGETS, **WRITTEN_ANEW} and len(TARGETS) == 137


def test_names_that_torch_musas_headers_leave_are_left() -> None:
    left = b"CUDA_KERNEL_LOOP(i, CUDA_NUM_THREADS) at_cuda_detail::f(getCudaDataType<float>(), getCurrentCUDASparseHandle());"
    assert port_source(left).text == left
    event = b"#include <ATen/cuda/CUDAEvent.h>\nat::cuda::CUDAEvent event;\n"
    assert port_source(event).text == b"#include <torch_musa/csrc/core/MUSAEvent.h>\nat::musa::MUSAEvent event;\n"


def test_a_header_that_torch_musa_has_written_anew_is_included_from_its_sources() -> None:
    source = b"#include <c10/cuda/CUDACachingAllocator.h>\n"
    assert port_source(source).text == b"#include <torch_musa/csrc/core/MUSACachingAllocator.h>\n"


@pytest.mark.parametrize("name", ["BFloat16", "Float8_e4m3fn", "Float8_e5m2", "Half"])
def test_headers_of_the_stable_abi_keep_their_names(name: str) -> None:
    """With TORCH_TARGET_VERSION, PyTorch refuses c10's of these names; builds for PyTorch 2.7 have headers that lead there."""
    source = f"#include <torch/headeronly/util/{name}.h>\n".encode()
    assert port_source(source).text == source
    assert f"<c10/util/{name}.h>" in (Path(stable_include_dir()) / f"torch/headeronly/util/{name}.h").read_text()


def test_what_a_header_brought_along_is_included_before_the_line_directive() -> None:
    source = b"#pragma once\r\n#include <c10/cuda/CUDAException.h>\r\n"
    result = port_source(source, origin="a.cuh")
    lines = result.text.split(b"\r\n")
    assert lines[:-4] == [b"#include <c10/util/irange.h>", b"#include <mutex>"]
    assert lines[-4:] == [b'#line 1 "a.cuh"', b"#pragma once", b"#include <torch_musa/csrc/core/MUSAException.h>", b""]
    assert result.original_line(len(lines) - 1) == 2 and not result.lost
    assert port_source(source).lost == ("c10/util/irange.h", "mutex"), (
        "without the directive, lines stay where they are"
    )


def test_a_ported_tree_includes_what_a_header_brought_along(tmp_path: Path) -> None:
    """Also where no build adds it: these are the user's sources from now on."""
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/a.cuh").write_bytes(
        b'\xef\xbb\xbf#include <c10/cuda/CUDAException.h>\r\nasm("bar.sync 1, 64;");\r\n'
    )
    (tmp_path / "csrc/b.h").write_bytes(b"float most = FLT_MAX;\n")
    tree = port_tree(tmp_path / "csrc", tmp_path / "out")
    lines = (tmp_path / "out/a.muh").read_bytes().split(b"\r\n")
    assert lines[:2] == [b"\xef\xbb\xbf#include <c10/util/irange.h>", b"#include <mutex>"]
    assert lines[2] == b"#include <torch_musa/csrc/core/MUSAException.h>"
    assert (tmp_path / "out/b.h").read_bytes() == b"#include <float.h>\nfloat most = FLT_MAX;\n"
    assert [finding.line for _, finding in tree.findings] == [2], "of the source"
    assert port_file(tmp_path / "csrc/a.cuh").text == (tmp_path / "out/a.muh").read_bytes()
    assert not port_tree(tmp_path / "out", tmp_path / "again").files[0].replacements
    assert (tmp_path / "again/a.muh").read_bytes() == (tmp_path / "out/a.muh").read_bytes()


@pytest.mark.parametrize(
    ("source", "lost"),
    [
        (b"float most = -FLT_MAX;", ("float.h",)),
        (b"#include <math.h>\ndouble least = DBL_EPSILON; cudaFree(p);", ("float.h",)),
        (b"#include <cfloat>\nfloat most = FLT_MAX;", ()),
        (b"# include <float.h>\nfloat most = FLT_MAX;", ()),
        (b"#define FLT_MAX 3.4e38f\nfloat most = FLT_MAX;", ()),
        (b"float MY_FLT_MAX = DBL_MAXIMUM;", ()),
    ],
)
def test_the_limits_of_numbers_are_there_as_with_cuda(source: bytes, lost: tuple[str, ...]) -> None:
    """CUDA's headers include float.h, until 12.5, and sources count on it."""
    assert port_source(source).lost == lost
    first = port_source(source, origin="a.cu").text.splitlines()[0]
    assert (first == b"#include <float.h>") is bool(lost)


def test_the_table_of_lost_includes_is_about_headers_that_are_translated() -> None:
    names = Names()
    table = lost()
    assert {"c10/cuda/CUDAException.h", "ATen/cuda/CUDAContext.h"} <= set(table)
    for path, headers in table.items():
        answer = names.header(path)
        assert answer is not None and answer.name and headers == sorted(headers)
        assert not [header for header in headers if names.header(header) is not None or "cuda" in header.lower()]


@pytest.mark.parametrize("name", ["THCAtomics", "THCDeviceUtils"])
def test_what_is_left_of_thc_is_where_torch_musas_tool_puts_it(name: str) -> None:
    """PyTorch's wheels for CUDA have these two, which include ATen's; the tool makes them in aten/src."""
    assert port_source(f"#include <THC/{name}.cuh>".encode()).text == f"#include <THC/{name}.muh>".encode()
    place = ROOT / "src/musasim/torch_musa/share/generated_cuda_compatible/aten/src/THC" / f"{name}.muh"
    assert "#include <ATen/musa/" in place.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [b"ATen/cuda/\xff.cuh", b"c10/cuda/\xe9\xa0\x80.h", b"cudnn/\xff.h"])
def test_a_path_that_is_no_text_keeps_its_bytes(path: bytes) -> None:
    """The folder's name changes all the same."""
    renamed = path.replace(b"cuda/", b"musa/").replace(b".cuh", b".muh")
    assert port_source(b"#include <%b>" % path).text == b"#include <%b>" % renamed
