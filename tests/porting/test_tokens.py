"""What few sources have is looked for where a quick search has seen it; what is found does not depend on the rest."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from torchada.porting import Project, Translator, port_source
from torchada.porting.lexer import Lexer
from torchada.porting.tokens import RARE, WORD, Rare, tokens

pytestmark = pytest.mark.once

COMMON = [
    "cudaFree",
    "nvtxMark",
    '"a"',
    'R"(asm)"',
    "// asm",
    "'x'",
    "#include <cuda.h>",
    "%:include <cuda.h>",
    "#error a",
]
ASSEMBLER = ['asm("trap;")', "asm", "__asm__", "xasm", "asmx"]
WORDS = [
    "__barrier_sync",
    "__grid_constant__",
    "__cluster_dims__",
    "__vimax_s32(a)",
    "Autocast",
    "autocast::cached_cast(a, b)",
]
SELDOM = [*ASSEMBLER, *WORDS, "k<< <1, 2>> >(p)", "__has_include(<a.h>)"]
PIECES = st.sampled_from([*COMMON, *SELDOM, "DispatchKey::", "k<<<1, 2>>>(", "__", "a", "8", "'", "(", "\n", " "])


class Whole(Translator):
    """Looks for everything in every source."""

    def pattern(self, text: bytes) -> re.Pattern[bytes]:
        return tokens(self.names.own_words, self.names.own_prefixes)


@settings(deadline=None, max_examples=150)
@given(st.lists(PIECES, max_size=30).map("".join))
@example('asm("trap;");')
@example("k<< <1, 2>> >(p);")
@example("DispatchKey::Autocast")
@example("#if __has_include(<cuda.h>)")
@example("x = __vimax_s32(a, b);")
def test_a_source_is_ported_as_if_everything_were_looked_for(source: str) -> None:
    assert Translator().port(source.encode()) == Whole().port(source.encode())


def test_tokens_have_the_same_groups_whatever_else_is_looked_for() -> None:
    common = groups(())
    added = {rare: groups([rare]).items() - common.items() for rare in RARE}
    assert all(added.values())
    for size in range(len(RARE) + 1):
        for some in combinations(RARE, size):
            assert groups(some).items() == common.items() | {token for rare in some for token in added[rare]}


def groups(rare: Collection[Rare]) -> dict[int, int]:
    """The group of each token of a source that has everything, by where the token begins; WORD for all words."""
    source = "\n".join([*COMMON, *SELDOM]).encode()
    return {start: min(group, WORD) for group, start, _ in Lexer(tokens(rare=rare), b"\n" + source)}


@pytest.mark.parametrize("prefix", ["a", "as", "asm", "__a", "__asm", "__asm_"])
@pytest.mark.parametrize("keyword", ["asm", "__asm", "__asm__"])
def test_a_projects_prefix_does_not_hide_the_keyword_for_assembler(prefix: str, keyword: str) -> None:
    source = f'{keyword}("trap;"); {prefix}_thing();'.encode()
    assert port_source(source, Project(prefixes={prefix: "other_"})).text == b"__trap(); other__thing();"
