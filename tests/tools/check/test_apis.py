"""The table of answers is what the areas' own records say."""

from __future__ import annotations

import json

import pytest
import torch

from support.interpreter import ROOT, Interpreter
from torchada.areas import WINGS
from torchada.report.answers import MEANINGS, OF_SOURCES
from torchada.tools.check.apis import table
from torchada.tools.check.classify import QUESTIONS
from torchada.tools.check.releases import RELEASES

pytestmark = [pytest.mark.once]

FILE = ROOT / "src" / "torchada" / "tools" / "check" / "apis.json"
FOUND = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.musa
@pytest.mark.full
@pytest.mark.skipif(torch.__version__.partition("+")[0] != FOUND["torch"], reason="the table is that of one torch")
def test_the_table_is_up_to_date(plain: Interpreter) -> None:
    assert plain.run([str(ROOT / "scripts" / "cuda_apis.py"), "--check"]).stdout == "up to date\n"


def test_every_answer_has_a_kind_that_is_explained() -> None:
    tables = [FOUND["apis"], *FOUND["differences"].values()]
    kinds = {row[0] for rows in tables for row in rows.values() if row}
    assert kinds == {"same", "adapted", "emulated", "unsupported", "own"}
    assert kinds <= set(OF_SOURCES) <= MEANINGS.keys()
    assert len(WINGS) == 9 and len(FOUND["apis"]) > 800


def test_questions_are_in_the_table() -> None:
    assert {name for name in QUESTIONS if name not in table().names} == set()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("torch.cuda.Stream", "same"),
        ("torch.cuda.Stream.anything", "same"),
        ("torch.cuda.streams.Stream", "same"),
        ("torch.cuda.nvtx.range_pop", "emulated"),
        ("torch.cuda.jiterator", "unsupported"),
        ("torch.cuda.memory.reset_peak_host_memory_stats", "same"),
        ("torch.cuda.nothing", "unknown"),
        ("torch.cuda.nothing.more", "unknown"),
        ("torch.backends.cudnn.deterministic", "own"),
        ("torch.cuda.amp.autocast", "own"),
        ("torch.nn.Linear", None),
        ("torch.cudagraphs", None),
        ("numpy.cuda", None),
    ],
)
def test_a_path_has_its_answer(path: str, kind: str | None) -> None:
    answer = table().find(path)
    assert (answer and answer.kind) == kind


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("torch.cuda.memory.reset_peak_host_memory_stats", ["unsupported", "same", "same"]),
        ("torch.cuda.CUDAGraph.raw_cuda_graph", ["unsupported", "adapted", "adapted"]),
        ("torch.cuda.memory._set_memory_metadata", ["unsupported", "unsupported", "same"]),
        ("torch.cuda.caching_allocator_enable", ["emulated", "own", "own"]),
        ("torch.cuda.Stream", ["same", "same", "same"]),
    ],
)
def test_a_path_has_the_answer_of_each_release(path: str, kinds: list[str]) -> None:
    answers = [table(release).find(path) for release in RELEASES]
    assert [answer and answer.kind for answer in answers] == kinds


def test_attributes_that_say_cuda_are_known_on_any_object() -> None:
    assert {"cuda", "is_cuda", "cuda_stream", "cuda_event", "__cuda_array_interface__"} <= table().attributes.keys()
    assert not {"version", "type", "config", "impl"} & table().attributes.keys()
