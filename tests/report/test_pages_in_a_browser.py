"""The pages of our tools in Chromium, at 400, 800 and 1280 pixels, light and dark, and on paper.

Nothing overlaps, leaves the window, is hidden or too pale, and keys reach whatever can be opened or pressed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import browser
from torchada.report import schemas
from torchada.report.pages import parts
from torchada.telemetry import page as of_run
from torchada.telemetry import report
from torchada.tools.bench import page as of_bench
from torchada.tools.check import check
from torchada.tools.check import page as of_check
from torchada.tools.verify import page as of_verify
from torchada.tools.verify import report as verify

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
        "on_device": {f"aten::an_operator_with_a_long_name_{number}": 10**number for number in range(9)},
        "kernels": {"void kernel<float, 256, at::native::functor<float>, 4>(float*, float const*, int, long long)": 3},
        "mended": {},
        "cpu_fallbacks": {"aten::_logcumsumexp": 2},
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


DEVICE = {"name": "MTT S5000", "count": 8, "memory_bytes": 80 << 30, "capability": [3, 1]}
GREETING: dict[str, Any] = {
    "device": DEVICE,
    "problem": "",
    "platform": "musa",
    "simulated": True,
    "versions": {
        "torch": "2.13.0",
        "torch_musa": "2.7.1",
        "a package with a long name": "1.2.3.dev456+gabcdef0123456789",
    },
    "environment": {
        "PYTORCH_MUSA_ALLOC_CONF": "expandable_segments:True,garbage_collection_threshold:0.8,max_split_size_mb:512"
    },
    "system": "Linux-6.1.0-13-amd64-x86_64-with-glibc2.36",
}


OUTCOMES = {
    "float32": "passed",
    "float16": "failed",
    "int8": "crashed",
    "complex128": "timed out",
    "bfloat16": "unsupported",
    "bool": "skipped",
}


def verified() -> str:
    """A page of `torchada verify`, with each outcome."""
    shape = {"level": "quick", "tolerance": {"relative": 1e-5, "absolute": 1e-8}}
    answer = {"detail": "x" * 90, "seconds": 1.25, "error": 0.5, "log": "Traceback " * 40}
    rows = []
    for group, subject in (("pointwise", "add"), ("reductions_over_dimensions", "a_subject_of_a_very_long_name")):
        for dtype, outcome in OUTCOMES.items():
            task = {"name": f"{group}.{subject}.{dtype}", "group": group, "subject": subject, "dtype": dtype, **shape}
            rows.append(verify.row(task, {**answer, "outcome": outcome}))
    return of_verify.page(verify.document(GREETING, "quick", [], rows, 12.5))


def benchmarked() -> str:
    """A page of `torchada bench`, with a time and without."""
    times = {"median": 1e-3, "low": 0.9e-3, "high": 2e-3, "samples": 30}
    slow = {"median": 1.0, "low": 0.9, "high": 2.0, "samples": 30}
    measured = {"outcome": "measured", "detail": "", "size": 4096, "amount": 1.4e11, "device": times, "cpu": slow}
    ratio = {"median": 1234.5, "low": 1000.0, "high": 2000.0, "samples": 30}
    what = {"what": "the product of two square matrices, again and again, until the time is over", "unit": "FLOP"}
    none = {"size": None, "amount": None, "device": None, "cpu": None, "ratio": None}
    rows = [
        {"name": "matmul.float16", **what, **measured, "ratio": ratio},
        {
            "name": "a_benchmark_with_a_name_that_is_long.bfloat16",
            **what,
            "outcome": "timed out",
            "detail": "y" * 120,
            **none,
        },
    ]
    machine = {**GREETING, "processor": "A processor of a maker with a long name, model 12345", "cores": 64}
    return of_bench.page({**schemas.envelope("bench"), **machine, "benchmarks": rows})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("make", [verified, benchmarked])
def test_the_pages_of_verify_and_bench(make: Any, dark: bool, tmp_path: Path) -> None:
    page = make().replace("<details ", "<details open ")
    assert browser.faults(page, tmp_path, dark=dark) == NOTHING


def test_results_are_seen_in_a_narrow_window() -> None:
    assert all(f'class="chip {look}"' in verified() for look in ("error", "ok"))
    page = benchmarked()
    assert "140 TFLOP/s" in page and "CPU: 140 GFLOP/s; 1,000 to 2,000 times as fast" in page and ">1,234x<" in page


def test_a_page_can_be_printed(tmp_path: Path) -> None:
    assert 1 <= browser.pages_on_paper(verified(), tmp_path) <= 3


def test_the_faults_are_seen(tmp_path: Path) -> None:
    row = parts.row("ok", "name", "", "a-mark-that-is-far-too-long-for-its-column-" * 3, "1", "")
    style = "<style>summary{display:grid;grid-template-columns:1fr 50px 50px 50px} .chip{white-space:nowrap}</style>"
    assert all(browser.faults(f"<!DOCTYPE html>{style}{row}", tmp_path).values())


@pytest.mark.parametrize(
    "html",
    [
        '<p style="color:#999">pale</p>',
        '<p style="opacity:.5">faded</p>',
        '<button disabled style="color:#000">dead</button>',
    ],
)
def test_what_cannot_be_read_or_reached_is_seen(html: str, tmp_path: Path) -> None:
    assert all(browser.faults(f"<!DOCTYPE html>{html}", tmp_path).values())
