"""Time in proportion to the size of a source, whatever it holds (support/growth.py says how that is measured)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.growth import FACTOR, LIMIT, enough, growth, numbered, repeated
from support.steps import grow
from torchada.porting import port_source

pytestmark = pytest.mark.once

MOST = 32 * 1024 * 1024


def nested(size: int) -> bytes:
    """Programs in raw strings in programs."""
    levels = range(size // 25)
    return b"".join(b'R"%x(__global__ ' % at for at in levels) + b"".join(b')%x"' % at for at in reversed(levels))


def anything(size: int) -> bytes:
    return random.Random(0).randbytes(size)


TEXTS: dict[str, Callable[[int], bytes]] = {
    "escaped quotes": repeated(b'\\"'),
    "escaped quotes after a macro of keys": repeated(b'\\"', b'#define R(d) at::k##d\nR("//"/**/,CUDA,'),
    "escaped quotes before launches": repeated(b'*/\\"<< <'),
    "escaped apostrophes": repeated(b"\\'"),
    "escaped quotes of both kinds": repeated(b"\\'\\\""),
    "open quotes": repeated(b'"\n'),
    "strings behind an open quote": repeated(b'""', b"'"),
    "long escapes": repeated(b'"' + rb"\\" * 12 + b'"'),
    "a long string": repeated(rb"\n", b'"', b'"'),
    "separators": repeated(b"a'0"),
    "open raw strings": repeated(b'R"x1(\n'),
    "open raw strings that differ": numbered(b'R"%x(\n'),
    "raw strings": repeated(b'R"(x)"'),
    "raw strings in raw strings": nested,
    "programs with findings": repeated(b'R"(__global__ asm("a.b"))"\n'),
    "branches in assembler": repeated(b'asm(\n#if 1\n"mma.x"\n#else\n"ld.y"\n'),
    "branches behind assembler": repeated(b'asm("mma.sync.x"\n#if 1\n'),
    "open includes": repeated(b"#include <"),
    "open includes with digraphs": repeated(b"%:include <"),
    "open questions for includes": repeated(b"__has_include(<"),
    "comments in an include": repeated(b" */", b"#include/**/"),
    "includes with comments": repeated(b"#include/*"),
    "includes": numbered(b"#include <c%06x>\n"),
    "a long path": repeated(b"../", b'#include "', b'"'),
    "a long comment": repeated(b"\\a", b"//"),
    "comments": repeated(b"//\\\n"),
    "stars": repeated(b"*", b"/"),
    "splices after a slash": repeated(b"\\\n", b"/", b"x"),
    "splices after a star": repeated(b"*\\\n", b"/*"),
    "messages in a line": repeated(b"#error "),
    "messages over lines": repeated(b"#error \\\n"),
    "a name over lines": repeated(b"\\\na", b"cu"),
    "blanks after a version": repeated(b" ", b"CUDA_VERSION", b"x"),
    "splices after a version": repeated(b"\\\n", b"CUDA_VERSION", b"x"),
    "blanks before versions": repeated(b"+" + b" " * 90 + b"CUDA_VERSION"),
    "a long number": repeated(b"1", b"CUDA_VERSION >= "),
    "findings in a line": repeated(b"__CUDA_ARCH__+"),
    "questions": repeated(b"x.is_cuda()"),
    "questions of types": repeated(b"x.type().is_cuda()"),
    "moves": repeated(b"x.cuda()"),
    "keys": repeated(b"CUDA,", b"("),
    "keys after brackets": repeated(b"(),CUDA,", b"#define R(device) at::k##device\nR("),
    "keys of libraries": repeated(b"TORCH_LIBRARY_IMPL(CUDA, "),
    "namespaces": repeated(b"cuda "),
    "blanks after a namespace": repeated(b" ", b"cuda"),
    "devices in strings": repeated(b'="cuda"'),
    "libraries in strings": repeated(b'dlopen(,"nv"'),
    "functions in strings": repeated(b'dlsym(,"cu"'),
    "functions that differ": numbered(b'dlsym("cu%06x")'),
    "architectures in strings": repeated(b'"sm_90-"'),
    "a long name": repeated(b"_NODE_PARAMS", b"CUDA_A", b"$"),
    "names that differ": numbered(b"cu%07x "),
    "a name within another": repeated(b"a", b"", b"_cu"),
    "comments in assembler": repeated(b'\\"', b"asm( //"),
    "blanks in assembler": repeated(b" ", b"asm"),
    "words in assembler": repeated(b"volatile ", b"asm "),
    "strings in assembler": repeated(b'"" ', b"asm("),
    "a long string in assembler": repeated(b" @a", b'asm("', b'")'),
    "assembler": repeated(b'asm("'),
    "assembler that is translated": repeated(b'asm("membar.gl;");'),
    "assembler that differs": numbered(b'asm("mov.u32 %%0, %%1;":"=r"(x):"r"(y%06x));'),
    "assembler that nothing closes": repeated(b'asm("membar.gl;":"=r"('),
    "brackets in assembler": repeated(b"(", b'asm("membar.gl;":"=r"'),
    "operands of assembler": repeated(b'"r"(x),', b'asm("ld.global.u32 %0, [%1];" : "=r"(x) : ', b"1)"),
    "names in assembler": repeated(b'asm("" x);'),
    "launches spelt apart": repeated(b"k << <1, 1 >> >(p);"),
    "launches that nothing closes": repeated(b"<< <"),
    "shifts with blanks": repeated(b"<<" + b" " * 79, b"k<< <"),
    "comments before keys": repeated(b"(/**/CUDA/**/,"),
    "strings and comments before keys": repeated(b'("//",/**/CUDA/**/,', b"#define R(device) at::k##device\n"),
    "comments after a namespace": repeated(b"/**/", b"cuda"),
    "open comments before a namespace": repeated(b"/*cuda"),
    "namespaces within others": repeated(b"a::cuda::"),
    "namespaces by themselves": repeated(b"cuda::b("),
    "directives": repeated(b"# "),
    "anything": anything,
}


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """The expressions, so that no first call compiles them."""
    port_source(b'asm("a.b"); is_cuda(x) == CUDA_VERSION;')


@pytest.mark.full
@pytest.mark.parametrize("name", TEXTS)
def test_eight_times_an_adverse_text_takes_about_eight_times_as_long(name: str) -> None:
    size = enough(port_source, TEXTS[name], MOST // 16)
    assert growth(port_source, TEXTS[name], size) < LIMIT


@pytest.mark.parametrize("name", TEXTS)
def test_each_byte_of_a_larger_text_takes_as_many_steps(name: str) -> None:
    assert not grow(port_source, TEXTS[name], 2000)


MARKS = rb"""" ' \" \' \\ // /* */ R"( R"a( )" )a" # < > ( ) , : :: . -> ; { } 1 @p"""
WORDS = b"""#include #error %:include __has_include asm volatile cuda CUDA is_cuda CUDA_VERSION >= 800 namespace dlsym dlopen Device
    TORCH_LIBRARY_IMPL __global__ type() cudaMalloc at a mov.u32"""
PIECES = st.sampled_from([*MARKS.split(), *WORDS.split(), b" ", b"\n", b"\\\n", b"\r\n", b"\t", b"\xff"])


@settings(deadline=None, max_examples=200)
@given(st.lists(PIECES, max_size=3), st.lists(PIECES, min_size=1, max_size=5), st.lists(PIECES, max_size=2))
def test_eight_times_any_text_takes_about_eight_times_as_long(
    before: list[bytes], unit: list[bytes], after: list[bytes]
) -> None:
    text = repeated(b"".join(unit), b"".join(before), b"".join(after))
    assert growth(port_source, text, 3000) < LIMIT


@pytest.mark.parametrize("text", [b"1" * 5000, b"1" * 19], ids=["5000 digits", "19 digits"])
def test_a_number_that_no_version_has_is_reported_and_stays(text: bytes) -> None:
    result = port_source(b"#if CUDA_VERSION >= " + text)
    assert result.text == b"#if MUSA_VERSION >= " + text and len(result.findings) == 1


def test_raw_strings_within_raw_strings_end_at_some_depth() -> None:
    text = nested(100_000)
    assert port_source(text).text == text


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_the_largest_source_takes_its_part_of_the_time(name: str) -> None:
    assert growth(port_source, TEXTS[name], MOST // FACTOR) < LIMIT
