"""Words of device code that have another meaning in headers of the host."""

from __future__ import annotations

import pytest

from musasim.toolkit.compiler.device_symbols import MARK
from musasim.toolkit.compiler.rewrite import RewriteError, rewrite

pytestmark = pytest.mark.once

# The preprocessor's output: text from a macro of a system header stands between line markers.
ATTRIBUTE = """struct Count {
  __attribute__((
# 196 "shared_ptr_base.h" 3 4
                 __noinline__
# 196 "shared_ptr_base.h"
                 )) void release(); };
__attribute__((cold, __noinline__)) void h();
"""


def test_noinline_in_an_attribute_stays() -> None:
    assert rewrite(ATTRIBUTE, "31") == ATTRIBUTE


def test_noinline_alone_is_replaced() -> None:
    text = "__noinline__ int f();\ntemplate <class T> __device__ __noinline__ T g(T x) { return x; }\n"
    assert rewrite(text, "31").count("__attribute__((noinline))") == 2
    assert "__noinline__" not in rewrite(text, "31")


@pytest.mark.parametrize("name", ["+=", "<<=", "==", "<=", "=", "[]", "()", "->", "!"])
def test_an_operator_that_is_only_declared_stays_a_member(name: str) -> None:
    """It is no variable, although a `=` follows a name."""
    text = f"struct A {{ __device__ A& operator{name}(const A& other); int x; }};\n"
    assert rewrite(text, "31") == text.replace("__device__", f" {MARK} ")


def test_the_body_of_an_assignment_is_device_code() -> None:
    text = "int host() { return 1; }\nstruct A { __device__ A& operator+=(int y) { host(); return *this; } };\n"
    with pytest.raises(RewriteError, match="reference to __host__ function 'host' in __device__ function"):
        rewrite(f'# 1 "/project/a.mu"\n{text}', "31", "/project/a.mu")


def test_functions_of_other_folders_and_of_system_headers_are_not_looked_at() -> None:
    """Their names are common words, and what calls them from device code may mean another."""
    body = "int host() { return 1; }\n"
    use = '# 1 "/project/a.mu"\n__device__ int f() { return host(); }\n'
    for place in ('# 1 "/usr/include/a.h" 3', '# 1 "/elsewhere/a.h"', '# 1 "<built-in>"'):
        rewrite(f"{place}\n{body}{use}", "31", "/project/a.mu")
    with pytest.raises(RewriteError, match=r"/project/a\.mu:1: error: reference to __host__ function 'host'"):
        rewrite(f'# 1 "/project/sub/b.h" 1\n{body}{use}', "31", "/project/a.mu")


def test_a_template_of_the_host_leaves_kernels_the_functions_of_the_toolkit() -> None:
    """apex defines `template <typename U> U rsqrt(U v)` for the host; overloading takes the toolkit's own, which is no template."""
    toolkit = '# 1 "/toolkit/include/musasim/math.h" 1 3\nstatic inline float rsqrt(float x) { return x; }\n'
    text = '# 1 "/project/a.mu"\ntemplate <class T> T rsqrt(T x) { return x; }\n__device__ float f() { return rsqrt(1.f); }\n'
    rewrite(toolkit + text, "31", "/project/a.mu")
    with pytest.raises(RewriteError, match="reference to __host__ function 'rsqrt'"):
        rewrite(text, "31", "/project/a.mu")
