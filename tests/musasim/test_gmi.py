"""The simulated mthreads-gmi, asked as programs ask the driver's tool."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from musasim import toolkit

pytestmark = pytest.mark.once


def _ask(command: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{toolkit.home() / 'bin'}:{os.environ['PATH']}"
    done = {**os.environ, "PATH": path, "MUSASIM_DEVICE_COUNT": "2", "MUSASIM_MEMORY_BYTES": str(4 << 30), **env}
    return subprocess.run(["sh", "-c", command], env=done, capture_output=True, text=True, timeout=60)


def test_the_memory_of_each_device_as_sglang_asks_for_it() -> None:
    lines = "mthreads-gmi --query | grep 'FB Memory Usage' -A 2 | grep 'Total'"
    found = _ask(lines + " | awk -F':' '{print $2}' | awk '{print $1}' | sed 's/MiB//'").stdout.split()
    assert found == ["4096", "4096"]


def test_the_versions_and_the_topology_as_sglangs_report_has_them() -> None:
    driver = [line for line in _ask("mthreads-gmi -q").stdout.splitlines() if "Driver Version" in line]
    assert [line.split(":", 1)[1].strip() for line in driver] == ["5.1.0-musasim"]
    rows = [line.split("\t") for line in _ask("mthreads-gmi topo -m").stdout.splitlines()[:3]]
    assert rows == [["", "GPU0", "GPU1"], ["GPU0", "X", "PIX"], ["GPU1", "PIX", "X"]]


def test_json_as_exporters_read_it() -> None:
    found = json.loads(_ask("mthreads-gmi -q --json").stdout)
    assert found["Attached GPUs"] == "2" and [each["Index"] for each in found["GPU"]] == ["0", "1"]
    first, second = found["GPU"]
    assert first["GPU UUID"] != second["GPU UUID"] and first["PCI"]["Bus ID"] == "00000000:01:00.0"
    memory = {key: int(value.removesuffix("MiB")) for key, value in first["FB Memory Usage"].items()}
    assert memory["Total"] == memory["Used"] + memory["Free"] == 4096
    assert [each["Index"] for each in json.loads(_ask("mthreads-gmi -q --json -i 1").stdout)["GPU"]] == ["1"]


def test_hidden_devices_are_shown() -> None:
    assert _ask("mthreads-gmi", MUSA_VISIBLE_DEVICES="1").stdout.count("MTT S5000") == 2
    assert "MTT S5000" in _ask("mthreads-gmi").stdout


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert _ask("mthreads-gmi -q -i 7").returncode == 1
    assert _ask("mthreads-gmi", MUSASIM_DEVICE_COUNT="0").returncode == 1
    assert _ask("mthreads-gmi --query-gpu=index").returncode == 2


def test_the_version_of_the_toolkit_as_torch_musas_tests_read_it() -> None:
    told = _ask("musa_toolkits_version").stdout
    assert json.loads(told.replace("musa_toolkits:", "").strip())["version"] == "5.1.0"
    refused = _ask("musa_toolkits_version --all")
    assert refused.returncode == 2 and "no arguments, not --all" in refused.stderr
