"""The troubleshooting pages explain messages that programs really show, and the same ones in both languages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

TROUBLESHOOTING = tuple(ROOT / "docs" / folder / "troubleshooting.md" for folder in ("how-to", "zh"))
# Messages on that page that are not of this repository.
OF_OTHERS = (
    "Torch not compiled with CUDA enabled",
    "Attempting to deserialize object on a CUDA device",
    "can't convert musa:0 device type tensor to numpy",
    "Expected a 'musa' device type for generator",
    "AttributeError: module 'torch._C' has no attribute",
    "Device musa not supported",
    "0 active drivers",
    "libcuda.so cannot found!",
    "operator torchvision::nms does not exist",
    "undefined symbol",
    "No module named 'torch_musa'",
)


@cache
def _texts() -> str:
    """Every string of our Python sources, without the parts that are filled in, and the unchanged C++ sources."""
    strings = (node for path in _sources("*.py") for node in ast.walk(ast.parse(path.read_text())))
    python = "\n".join(_literal(node) for node in strings if isinstance(node, (ast.Constant, ast.JoinedStr)))
    return python + "\n".join(path.read_text() for path in _sources("*.cpp"))


def _sources(pattern: str) -> Iterator[Path]:
    return (ROOT / "src").rglob(pattern)


def _literal(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "\0".join(part.value for part in node.values if isinstance(part, ast.Constant))


def _messages(page: Path) -> list[str]:
    """The headings that are messages, as the program shows them."""
    return re.findall(r"^### `(.+)`$", page.read_text(), re.MULTILINE)


def _is_of_others(message: str) -> bool:
    return any(words in message for words in OF_OTHERS)


def _missing(message: str) -> list[str]:
    pieces = [piece.strip(" :,") for piece in message.split("…")]
    return [piece for piece in pieces if piece and piece not in _texts()]


def test_every_message_of_the_troubleshooting_page_is_in_the_sources() -> None:
    ours = [message for message in _messages(TROUBLESHOOTING[0]) if not _is_of_others(message)]
    unknown = [message for message in ours if _missing(message)]
    assert ours and not unknown, "\n".join(unknown)


def test_troubleshooting_explains_the_same_messages_in_both_languages() -> None:
    english, chinese = map(_messages, TROUBLESHOOTING)
    assert english == chinese
    assert len(english) >= 15
