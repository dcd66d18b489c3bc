"""Every reader takes time in proportion to the size of a file, whatever it holds (support/growth.py says how that is measured)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial

import pytest

from support.growth import LIMIT, Input, enough, growth, numbered, repeated
from support.steps import grow
from torchada.tools.check import collect
from torchada.tools.check.releases import NEWEST
from torchada.tools.check.session import READERS
from torchada.tools.check.whole_project import WholeProject

pytestmark = pytest.mark.once

MOST = 128 * 1024


def cells(row: str, in_cell: int, *, as_text: bool = False, ascii_only: bool = True) -> Input:
    """A notebook whose cells have so many rows each."""

    def make(size: int) -> bytes:
        rows = [row] * in_cell
        source = "".join(rows) if as_text else rows
        cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
        count = max(1, size // (len(row) * in_cell + 80))
        return json.dumps({"cells": [cell] * count}, indent=1, ensure_ascii=ascii_only).encode()

    return make


def escaped(size: int) -> bytes:
    """A notebook whose rows are escaped otherwise than json.dumps does it."""
    rows = ",".join('"\\u0061\\n"' for _ in range(size // 11))
    return f'{{"cells":[{{"cell_type":"code","source":[{rows}]}}]}}'.encode()


def anything(size: int) -> bytes:
    return random.Random(0).randbytes(size).replace(b"\0", b" ")


def chained(size: int) -> bytes:
    """Aliases of aliases."""
    return b"import torch\na0 = torch.cuda\n" + b"".join(b"a%d = a%d\n" % (at + 1, at) for at in range(size // 16))


# What hurts readers of text by regular expressions or by lines, whatever the kind of file.
ANYWHERE: dict[str, Input] = {
    "escaped quotes": repeated(b'\\"'),
    "escaped apostrophes": repeated(b"\\'"),
    "escaped quotes behind a quote": repeated(b'\\"', b'"'),
    "quotes": repeated(b'"'),
    "open quotes": repeated(b'"\n'),
    "apostrophes": repeated(b"'"),
    "triple quotes": repeated(b'"""\n'),
    "raw strings": repeated(b"r'\\'\n"),
    "comments": repeated(b"#\n"),
    "a comment": repeated(b"#"),
    "continuations": repeated(b"\\\n"),
    "parentheses": repeated(b"("),
    "brackets": repeated(b"["),
    "sections": repeated(b"[a]\n"),
    "braces": repeated(b"{"),
    "empty lines": repeated(b"\n", b"(", b")("),
    "carriage returns": repeated(b"\r", b"(", b")("),
    "lines of blanks": repeated(b" " * 70 + b"\n", b"(", b")("),
    "blanks": repeated(b" ", b"x", b"="),
    "tabs": repeated(b"\t", b"(", b")("),
    "names": repeated(b"a", b"", b" ="),
    "dots": repeated(b".a", b"x", b" (= "),
    "digits": repeated(b"1", b"x = ", b" ("),
    "dashes": repeated(b"-"),
    "options": repeated(b"--a ", b"FROM "),
    "requirements in a line": repeated(b"cupy ", b"RUN pip install "),
    "requirements that differ in a line": numbered(b"nvidia-%06x ", b"RUN pip install "),
    "requirements in lines": repeated(b"cupy\n"),
    "requirements in an array": repeated(b'"cupy",', b"[project]\ndependencies = [", b"]"),
    "keys": numbered(b'cupy%06x = "1"\n', b"[tool.poetry.dependencies]\n"),
    "markers": repeated(b"markers = '", b"[packages]\n"),
    "items": repeated(b"- cupy\n", b"dependencies:\n"),
    "words of Python 2": repeated(b"print \n", b"("),
    "devices in a line": repeated(b"'cuda' ", b"( "),
    "moves in a line": repeated(b"x.cuda() ", b"( "),
    "APIs in a line": repeated(b"torch.cuda.Stream ", b"( "),
    "anything": anything,
}
PYTHON: dict[str, Input] = {
    "questions in a line": repeated(b"x.is_cuda;", b"import torch;"),
    "questions in a line that is not ASCII": repeated(b"x.is_cuda;", "import torch; é = 1;".encode()),
    "devices in a tuple": repeated(b"'cuda',", b"x = ("),
    "devices that differ": numbered(b"x = 'cuda:%d'\n"),
    "imports": numbered(b"import cupy as c%06x\n"),
    "names that are imported": numbered(b"from torch.cuda import x%06x\n"),
    "imports in a try": lambda size: b"try:\n" + b"    import cupy\n" * (size // 16) + b"except ImportError: pass\n",
    "aliases": numbered(b"a%06x = torch.cuda\n", b"import torch\n"),
    "an alias of an alias": chained,
    "functions": numbered(b"def f%06x(x): return x.cuda()\n"),
    "classes": numbered(b"class C%06x:\n    def f(self): return self.x.cuda()\n"),
    "branches": repeated(b"if x.device.type == 'cuda': pass\n"),
    "comparisons": repeated(b" == 'cuda'", b"x = y.device.type"),
    "a name that is bound again": repeated(b"x = torch.cuda\n", b"import torch\n"),
    "an API in lines": repeated(b"torch.cuda.synchronize()\n", b"import torch\n"),
    "programs that are started": repeated(b"run(['nvidia-smi'])\n", b"from subprocess import run\n"),
    "requirements of setup.py": repeated(b"'cupy',", b"setup(install_requires=[", b"])"),
    "a coding of hosts": repeated(b"a-", b"# coding: punycode\n"),
    "a long string": repeated(b"cuda ", b"x = '", b"'"),
    "formatted strings": repeated(b"f'cuda:{x}'\n"),
}  # fmt: skip
NOTEBOOKS: dict[str, Input] = {
    "rows that are escaped": escaped,
    "rows": cells("x = 1\n", 1000),
    "cells": cells("x = 1\n", 1),
    "cells of text": cells("x = 1\n", 1000, as_text=True),
    "rows of moves": cells("x.cuda()\n", 100),
    "rows of magic": cells("!ls\n", 100),
    "rows that are not ASCII": cells("x = 'é'\n", 100, ascii_only=False),
    "strings that are no rows": repeated(
        b'"",', b'{"a":[', b'""],"cells":[{"cell_type":"code","source":["x.cuda()"]}]}'
    ),
}
CMAKE: dict[str, Input] = {
    "commands": repeated(b"find_package(CUDA)\n"),
    "commands that nothing closes": repeated(b"find_package(CUDA "),
    "brackets of comments": repeated(b"#[[\n"),
    "words in a command": repeated(b"cuda ", b"target_link_libraries(a ", b")"),
    "projects that nothing closes": repeated(b"project("),
}
SHELL: dict[str, Input] = {
    "beginnings of commands": repeated(b"do/"),
    "variables of a command": repeated(b"do a="),
    "variables before a command": repeated(b"a=b "),
    "exports": repeated(b"export "),
}
COMPOSE: dict[str, Input] = {
    "devices": repeated(b"    - driver: nvidia\n"),
    "images in a line": repeated(b"image:"),
    "names of an image": repeated(b"cuda", b"image:", b" x"),
    "quotes of images": repeated(b"image:'cuda "),
    "deep indents": lambda size: b"".join(b" " * at + b"a:\n" for at in range(int((2 * size) ** 0.5))),
}
KINDS: dict[str, tuple[str, dict[str, Input]]] = {
    "a.py": (collect.PYTHON, {**ANYWHERE, **PYTHON}),
    "setup.py": (collect.PYTHON, {"requirements of setup.py": PYTHON["requirements of setup.py"]}),
    "a.pyx": (collect.PYTHON, ANYWHERE),
    "a.ipynb": (collect.NOTEBOOK, {**NOTEBOOKS, "anything": anything}),
    "requirements.txt": (collect.REQUIREMENTS, ANYWHERE),
    "pyproject.toml": (collect.REQUIREMENTS, ANYWHERE),
    "setup.cfg": (collect.REQUIREMENTS, ANYWHERE),
    "Pipfile": (collect.REQUIREMENTS, ANYWHERE),
    "environment.yml": (collect.REQUIREMENTS, ANYWHERE),
    "Dockerfile": (collect.REQUIREMENTS, ANYWHERE),
    "build.sh": (collect.SCRIPT, {**ANYWHERE, **SHELL}),
    "CMakeLists.txt": (collect.CMAKE, {**ANYWHERE, **CMAKE}),
    "compose.yaml": (collect.CONTAINERS, {**ANYWHERE, **COMPOSE}),
}
CASES = [(name, kind, text) for name, (kind, texts) in KINDS.items() for text in texts]


def reader(name: str, kind: str) -> Callable[[bytes], object]:
    file = collect.File(name, f"/{name}", kind, "/")
    return partial(_read, file)


def _read(file: collect.File, data: bytes) -> None:
    for _ in READERS[file.kind](file, data, WholeProject([], NEWEST)):
        pass


EACH = pytest.mark.parametrize(("name", "kind", "text"), CASES, ids=[f"{name} {text}" for name, _, text in CASES])


@pytest.mark.full
@EACH
def test_eight_times_a_hostile_file_takes_about_eight_times_as_long(name: str, kind: str, text: str) -> None:
    read, data = reader(name, kind), KINDS[name][1][text]
    assert growth(read, data, enough(read, data, MOST)) < LIMIT


@pytest.mark.full
@EACH
def test_each_byte_of_a_larger_file_takes_as_many_steps(name: str, kind: str, text: str) -> None:
    assert not grow(reader(name, kind), KINDS[name][1][text], 2000)
