"""Words of device code that headers of the host have as well, with another meaning."""

from __future__ import annotations

import pytest

from musasim.toolkit.rewrite import rewrite

pytestmark = pytest.mark.once

# As the preprocessor writes it: what a macro of a system header gives stands between line markers.
ATTRIBUTE = """struct Count {
  __attribute__((
# 196 "shared_ptr_base.h" 3 4
                 __noinline__
# 196 "shared_ptr_base.h"
                 )) void release(); };
__attribute__((cold, __noinline__)) void h();
"""


def test_noinline_in_an_attribute_is_its_name() -> None:
    assert rewrite(ATTRIBUTE, "31") == ATTRIBUTE


def test_noinline_is_a_word_of_its_own() -> None:
    text = "__noinline__ int f();\ntemplate <class T> __device__ __noinline__ T g(T x) { return x; }\n"
    assert rewrite(text, "31").count("__attribute__((noinline))") == 2
    assert "__noinline__" not in rewrite(text, "31")
