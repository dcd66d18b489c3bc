"""Sources that mark ranges for NVTX are built: the marks stay as they are, and the headers in CUDA_HOME record none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.toolkits import musa
from torchada.building.cuda_home import cuda_home
from torchada.porting import port_source

pytestmark = pytest.mark.once

SOURCE = b"""#include <nvtx3/nvToolsExt.h>
int main() {
  nvtxEventAttributes_t a = {};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.colorType = NVTX_COLOR_ARGB;
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = "step";
  nvtxRangePushEx(&a);
  nvtxMark("now");
  const nvtxRangeId_t id = nvtxRangeStartA("x");
  nvtxRangeEnd(id);
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("mine");
  nvtxDomainRangePushEx(domain, &a);
  return nvtxDomainRangePop(domain) == nvtxRangePop() ? 0 : 1;
}
"""
CPP = b"""#include <nvtx3/nvtx3.hpp>
#include <nvToolsExt.h>
int main() {
  NVTX3_FUNC_RANGE();
  nvtx3::scoped_range range{"outer", nvtx3::rgb{1, 2, 3}};
  nvtx3::mark("now", nvtx3::payload{1});
  return nvtxRangePush("inner") >= 0;
}
"""


@pytest.fixture
def include(tmp_path: Path) -> Path:
    """The headers in the folder that builds take for CUDA's toolkit."""
    home = tmp_path / "musa"
    for folder in ("bin", "include", "lib"):
        (home / folder).mkdir(parents=True)
    made = cuda_home(musa(str(home)), str(tmp_path / "caches"))
    return Path(str(made)) / "include"


@pytest.mark.parametrize(("language", "source"), [("c", SOURCE), ("c++", SOURCE), ("c++", CPP)])
def test_marks_are_compiled_and_nobody_records_them(
    language: str, source: bytes, include: Path, tmp_path: Path
) -> None:
    ported = port_source(source)
    assert ported.text == source
    program = tmp_path / "program"
    command = ["g++" if language == "c++" else "gcc", "-x", language, f"-I{include}", "-", "-o", str(program)]
    subprocess.run(command, input=ported.text, check=True)
    assert subprocess.run([program], check=False).returncode == 0


def test_only_the_header_is_reported_with_what_there_is() -> None:
    (finding,) = port_source(SOURCE).findings
    assert (finding.name, finding.line) == ("nvtx3/nvToolsExt.h", 1)
    assert "torchada's builds find one" in finding.reason
