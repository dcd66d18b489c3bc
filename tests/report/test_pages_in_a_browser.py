"""The pages of our tools in Chromium, at 400, 800 and 1280 pixels: nothing overlaps, leaves the window, or is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import browser
from torchada.report.pages import parts
from torchada.telemetry import page as of_run
from torchada.telemetry import report
from torchada.tools.check import check
from torchada.tools.check import page as of_check

pytestmark = [
    pytest.mark.once,
    pytest.mark.full,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="there is no Chromium on this machine"),
]
NOTHING: dict[str, list[str]] = {"400": [], "800": [], "1280": []}
LONG = "common_methods_invocations_of_a_very_long_name.py"


def test_the_page_of_a_check(tmp_path: Path) -> None:
    files = {
        "train.py": "import torch\ntorch.cuda.jiterator\nif torch.cuda.get_device_capability() >= (8, 0): pass\n",
        "segment/train.py": "import cupy\n",
        f"segment/{LONG}": "import torch\n" + "torch.cuda.jiterator\n" * 12,
        "requirements.txt": "cupy-cuda12x\nnvidia-cublas-cu12\n",
        "docker-compose.yml": "image: example.org/a/very/long/name/of/an/image/nvidia/cuda:12.1.0-cudnn8-devel-ubuntu22.04\n",
        "run.sh": "nvidia-smi\n",
    }
    for name, text in files.items():
        (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / name).write_text(text)
    page = of_check.as_html(check([str(tmp_path / "project")]))
    assert ">segment/train.py<" in page and ">train.py<" in page, "two files of one name are told apart"
    assert browser.faults(page, tmp_path) == NOTHING


def test_the_page_of_a_run(tmp_path: Path) -> None:
    command = ["-X", "utf8", "/home/me/train.py", *(f"--option-{number}={'x' * 30}" for number in range(20))]
    document = report.empty(command, "/home/me")
    use = {
        "api": 'torch.amp.GradScaler("cuda")' * 3,
        "kind": "unsupported",
        "to": "",
        "count": 123_456,
        "file": f"/home/me/{LONG}",
    }
    place = {"line": 1, "function": "f", "package": "__main__", "through": "", "source": "x" * 200}
    described = {
        "pid": 1,
        "parent": 1,
        "host": "workstation",
        "command": command,
        "folder": "/",
        "started": 0.0,
        "ended": 1.0,
        "cpu_fallbacks": {},
    }
    where = {
        "backend": "musa",
        "adapter": "torch_musa",
        "simulated": True,
        "python": "3.11",
        "torch": "2.7",
        "torchada": "0.2",
    }
    report.add(document, {**described, **where}, [{**use, **place}])
    page = of_run.page(document)
    assert "<title>CUDA in train.py</title>" in page and "workstation" not in page.partition('id="report"')[0]
    assert browser.faults(page, tmp_path) == NOTHING


def test_the_faults_are_seen(tmp_path: Path) -> None:
    row = parts.row("ok", "name", "", "a-mark-that-is-far-too-long-for-its-column-" * 3, "1", "")
    style = "<style>summary{display:grid;grid-template-columns:1fr 50px 50px 50px} .chip{white-space:nowrap}</style>"
    assert all(browser.faults(f"<!DOCTYPE html>{style}{row}", tmp_path).values())
