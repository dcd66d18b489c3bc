"""mcc compiles the CUDA C++ that nvcc compiles, and refuses what nvcc refuses."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from musasim.toolkit.compiler.rewrite import RewriteError, rewrite
from support.device_code import BY_NVCC, said_of
from torchada.porting import port_source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.once

SNIPPETS = tomllib.loads((Path(__file__).parent / "device" / "snippets.toml").read_text(encoding="utf-8"))
ACCEPTED = [name for name, snippet in SNIPPETS.items() if "refused" not in snippet]
REFUSED = [name for name in SNIPPETS if name not in ACCEPTED]


def reason(name: str) -> str | None:
    """Why mcc refuses it before the compiler of the host sees it."""
    text = port_source(SNIPPETS[name]["code"].encode()).text.decode()
    try:
        rewrite(f'# 1 "/project/{name}.mu"\n{text}', "31", f"/project/{name}.mu")
    except RewriteError as error:
        return str(error)
    return None


def together(names: list[str]) -> str:
    """One file of them, in which each has a namespace, and its name for that of a file."""
    lines = [line for name in names for line in SNIPPETS[name]["code"].splitlines() if line.startswith("#include")]
    code = {name: re.sub("#include.*", "", SNIPPETS[name]["code"]) for name in names}
    spaces = [f'#line 1 "{name}"\nnamespace of_{name} {{ {text}\n}}' for name, text in code.items()]
    return "\n".join([*dict.fromkeys(lines), *spaces, ""])


@pytest.fixture(scope="module")
def of_the_compiler(tmp_path_factory: pytest.TempPathFactory) -> str:
    names = [name for name in REFUSED if reason(name) is None]
    return said_of(together(names), tmp_path_factory.mktemp("refused"))


def test_what_nvcc_compiles_is_compiled(tmp_path: Path) -> None:
    assert said_of(together(ACCEPTED), tmp_path) == ""
    if not BY_NVCC:
        assert {name: why for name in ACCEPTED if (why := reason(name))} == {}


@pytest.mark.skipif(BY_NVCC, reason="the words are those of mcc")
@pytest.mark.parametrize("name", REFUSED)
def test_what_nvcc_refuses_is_refused(name: str, of_the_compiler: str) -> None:
    words = re.escape(SNIPPETS[name]["refused"])
    why = reason(name)
    if why is None:
        assert re.search(rf"^{name}:\d+:\d+: error: .*{words}", of_the_compiler, re.MULTILINE), of_the_compiler
    else:
        assert re.search(rf"/{name}\.mu:\d+: error: .*{words}", why)


@pytest.mark.skipif(not BY_NVCC, reason="asks nvcc")
def test_nvcc_refuses_it(tmp_path: Path) -> None:
    assert [name for name in REFUSED if "error" not in said_of(SNIPPETS[name]["code"], tmp_path)] == []
