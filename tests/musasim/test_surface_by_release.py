"""Names and signatures of each release: test_api_surface.py for those that are not the default, and what _MUSAC has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from musasim import native_names
from musasim.base import release
from support.fresh_process import run

pytestmark = pytest.mark.once

#: Those that take this torch, but the one that test_api_surface.py is for by itself.
OTHERS = [name for name in release.VERSIONS if release.takes(name, torch.__version__) and name != release.name()]
PROPERTIES = {"name", "major", "minor", "is_multi_gpu_board", "is_integrated", "multi_processor_count", "total_memory"}


@pytest.mark.full
@pytest.mark.parametrize("name", OTHERS)
def test_the_names_are_those_of_the_release(name: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/musasim/test_api_surface.py"]
    environment = {**os.environ, "MUSASIM_RELEASE": name, "PYTEST_ADDOPTS": ""}
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


NATIVE = """
import json, torch, torch_musa
native = torch_musa._MUSAC
fields = [name for name in vars(native._MusaDeviceProperties) if not name.startswith("_")]
print(json.dumps({"names": [name for name in dir(native)], "fields": fields}))
"""


@pytest.mark.full
@pytest.mark.parametrize("name", release.VERSIONS)
def test_the_native_part_has_what_its_release_added_and_no_more(name: str) -> None:
    import json

    seen = json.loads(run(NATIVE, MUSASIM_RELEASE=name))
    names, fields = set(seen["names"]), set(seen["fields"])
    known = list(release.VERSIONS)
    for since, added in native_names.ADDED.items():
        own = {entry for entry in added if "." not in entry}
        assert own & names == (own if known.index(name) >= known.index(since) else set())
    assert ("_MemPoolContext" in names) is (name != "2.11.0") and "_musasim_simulate" not in names
    later = {entry.partition(".")[2] for entry in native_names.ADDED["2.11.0"] if entry.startswith("_MusaDevice")}
    assert fields == (PROPERTIES | later if name == "2.11.0" else PROPERTIES) and len(later) == 16
