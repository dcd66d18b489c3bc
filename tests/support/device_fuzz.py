"""Random arguments of torch.device, and what comes of them, for a comparison between plain torch and a redirected one.

As a program it reads a seed and a number from its command line, and prints what came of each input as one line of JSON. A third
argument says that it sees the backend, so that a device of CUDA's that was left in place is not taken for the backend's.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

_TYPES = ("cuda", "cpu", "meta", "xpu", "CUDA", "Cuda", "cud", "cudaa", "", "hip", "mkldnn")
_SEPARATORS = (":", "", "::", " :", ": ", ".", ",", "/", "-", "\0", "\n", "：")
_NUMBERS = ("0", "1", "7", "00", "01", "-1", "-0", "+1", "127", "128", "129", "254", "255", "256", "257", "383", "511")
_NUMBERS += (
    "512",
    "1000",
    "1024",
    "32767",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "9" * 20,
    "9" * 400,
)
_NUMBERS += ("", " ", "x", "0x1", "1.0", "1e0", "1_0", "١", "²", "None", "True", " 1", "1 ", "1\n", "1:", "1:2")
_INDICES: tuple[Any, ...] = (
    0,
    1,
    7,
    -1,
    -2,
    127,
    128,
    129,
    255,
    256,
    257,
    1000,
    2**31,
    2**63,
    2**64,
    None,
    True,
    False,
)
_INDICES += (1.0, 0.0, float("nan"), Decimal(1), Fraction(1), 1 + 0j, "0", "1", b"1", (1,), [1], {}, object)


class Text(str):
    """A string of a program's own class."""


class Index(int):
    """A number of a program's own class."""


def inputs(seed: int, count: int) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """`count` pairs of positional and named arguments, the same for the same seed."""
    draw = random.Random(seed)
    for _ in range(count):
        yield _arguments(draw)


def _arguments(draw: random.Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    name, index = _name(draw), draw.choice(_INDICES)
    index = Index(index) if type(index) is int and draw.random() < 0.1 else index
    shape = draw.randrange(8)
    if shape < 3:
        return (name,), {}
    if shape < 5:
        return (name, index), {}
    return [
        ((), {"type": name, "index": index}),
        ((), {"device": name} if draw.random() < 0.5 else {"type": name}),
        ((name,), {draw.choice(("index", "type", "device")): index}),
    ][shape - 5]


def _name(draw: random.Random) -> Any:
    kind = draw.choice(_TYPES) if draw.random() < 0.3 else "cuda"
    text = kind + draw.choice(_SEPARATORS if draw.random() < 0.3 else (":",)) + draw.choice(_NUMBERS)
    text = kind if draw.random() < 0.3 else text
    if draw.random() < 0.1 and text:
        place = draw.randrange(len(text))
        text = text[:place] + chr(draw.randrange(1, 256)) + text[place + draw.randrange(2) :]
    shape = draw.random()
    return text.encode() if shape < 0.05 else Text(text) if shape < 0.1 else text


def outcome(torch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[object]:
    """The type and index of the device, or the error's class and first line."""
    try:
        device = torch.device(*args, **kwargs)
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    return ["device", device.type, device.index]


def main() -> None:
    """Print the outcomes."""
    import torch

    seed, count, *sees_backend = map(int, sys.argv[1:])
    if sees_backend:
        import torchada

        torchada.set_view("__main__", "backend")
    for args, kwargs in inputs(seed, count):
        print(json.dumps(outcome(torch, args, kwargs)))


if __name__ == "__main__":
    main()
