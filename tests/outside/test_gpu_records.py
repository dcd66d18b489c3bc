"""Records of what a GPU makes of PyTorch's operators, and how two of them are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from outside import gpu_compare
from support.interpreter import ROOT, Interpreter

pytestmark = pytest.mark.once


def row(**sections: Any) -> gpu_compare.Records:
    return {"mul": {"forward": {}, "gradient": {}, "autocast": {}, **sections}}


def kinds(gpu: Any, ours: Any) -> list[str]:
    records = (row(forward={"torch.float32": [[result]]}) for result in (gpu, ours))
    return [kind for kind, *_ in gpu_compare.differences(*records)]


def tensor(shape: list[int], dtype: str, strides: list[int], numbers: list[float]) -> list[Any]:
    return [shape, dtype, strides, "cuda", numbers]


TWO = tensor([2, 1], "torch.float32", [1, 1], [1.0, float("nan")])


@pytest.mark.parametrize(
    ("ours", "kind"),
    [
        (TWO, []),
        (
            tensor([2, 1], "torch.float32", [1, 9], [1.00001, float("nan")]),
            [],
        ),  # the place of one element matters to nobody
        (tensor([2], "torch.float32", [1], [1.0, float("nan")]), ["forward: shape"]),
        (tensor([2, 1], "torch.float64", [1, 1], [1.0, float("nan")]), ["forward: type"]),
        (tensor([2, 1], "torch.float32", [3, 1], [1.5, float("nan")]), ["forward: strides", "forward: numbers"]),
    ],
)
def test_what_differs_between_two_results(ours: list[Any], kind: list[str]) -> None:
    assert kinds(TWO, ours) == kind


def test_what_one_of_them_refuses() -> None:
    refused, computed = row(forward={"torch.int64": ["RuntimeError: no"]}), row(forward={"torch.int64": [[TWO]]})
    assert [kind for kind, *_ in gpu_compare.differences(computed, refused)] == ["forward: refused by us alone"]
    assert [kind for kind, *_ in gpu_compare.differences(refused, computed)] == ["forward: refused by the GPU alone"]
    assert not list(gpu_compare.differences(refused, refused))


@pytest.mark.slow
def test_a_record_goes_on_where_it_was_stopped(
    musa: Interpreter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "record.jsonl"
    file.write_text('{"op": "addcmul"}\n')  # begun, and never ended
    for _ in range(2):
        musa.run(["-m", "outside.gpu_record", str(file), "--only", "addc"], env={"PYTHONPATH": str(ROOT / "tests")})
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["op"] for line in rows] == ["addcmul", "addcdiv", "addcdiv"]
    assert rows[-1]["forward"]["torch.float32"][0][0][:2] == [[5, 5], "torch.float32"]
    assert set(rows[-1]["autocast"]) == {"torch.float16", "torch.bfloat16"}
    gpu_compare.main([str(file), str(file)])
    assert capsys.readouterr().out.startswith("1 operators; ")
