"""Words of device code that have another meaning in headers of the host."""

from __future__ import annotations

import pytest

from musasim.toolkit.rewrite import rewrite

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
