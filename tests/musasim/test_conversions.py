"""mcc finds the conversions to integers in device code, with their operands, and takes nothing else for one."""

from __future__ import annotations

import pytest

from musasim.toolkit.compiler.device_symbols import MARK
from musasim.toolkit.compiler.rewrite import rewrite


def rewritten(code: str) -> str:
    """The code after mcc has looked at it as a device function's, with `to<T>` for the function that converts."""
    opening = "void f() {"
    result = rewrite(f"__device__ {opening}{code}}}", "31").replace(MARK, "").strip()
    return result.removeprefix(opening).removesuffix("}").replace("::musasim::converted<", "to<")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a = (unsigned)x;", "a = to<unsigned>(x);"),
        ("a = (unsigned long long) x * y;", "a = to<unsigned long long>( x) * y;"),
        ("a = (uint32_t)-x + 1;", "a = to<uint32_t>(-x) + 1;"),
        ("a = (int)*p++ - 1;", "a = to<int>(*p++) - 1;"),
        ("a = (int)x - -y;", "a = to<int>(x) - -y;"),
        ("a = (int)(float)x / 2;", "a = to<int>((float)x) / 2;"),
        ("a = (int)(x + y) / 2;", "a = to<int>((x + y)) / 2;"),
        ("a = (int)(size_t)x;", "a = to<int>(to<size_t>(x));"),
        ("a = (int)(std::size_t)x;", "a = to<int>(to<std :: size_t>(x));"),
        ("a = (unsigned char)x;", "a = to<unsigned char>(x);"),
        ("a = static_cast<int16_t>(x);", "a = to<int16_t>(x);"),
        ("a = (int)std::floor<float>(x)[0].y->z(1) < 2;", "a = to<int>(std::floor<float>(x)[0].y->z(1)) < 2;"),
        ("a = (int)x < y && z > (w);", "a = to<int>(x) < y && z > (w);"),
        ("a = (int)3e9f;", "a = to<int>(3e9f);"),
        ("return (int64_t)x ? 1 : 2;", "return to<int64_t>(x) ? 1 : 2;"),
        ("a = static_cast<unsigned int>(x);", "a = to<unsigned int>(x);"),
        ("a = static_cast<std::uint64_t>(x) + 1;", "a = to<std :: uint64_t>(x) + 1;"),
        ("g(y, int(x));", "g(y, to<int>(x));"),
        ("g(y, int(*x));", "g(y, to<int>(*x));"),
        ("a = b + size_t(x);", "a = b + to<size_t>(x);"),
    ],
)
def test_a_conversion_is_found_with_its_operand(code: str, expected: str) -> None:
    assert rewritten(code) == expected


@pytest.mark.parametrize(
    "code",
    [
        "a = sizeof(int) * n;",
        "auto g = [](int) { return 1; };",
        "void g(int) ;",
        "std::function<int(float)> g;",
        "auto g = [&](int row, int (&values)[3]) {};",
        "auto g = [&](int row, unsigned (*values)(int)) {};",
        "int(x);",
        "a = new int(x);",
        "a = (int)sizeof(x);",
        "a = (int&)x;",
        "a = (bool)x;",
        "a = static_cast<T>(x);",
        "a = static_cast<const int*>(x);",
        "for (int(x) = 0; x < 1; ++x) {}",
        'a = "(int)x";',
        "long n = (x);",
    ],
)
def test_other_code_stays(code: str) -> None:
    assert rewritten(code) == code


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a = (T)x;", "a = to<T>(x);"),
        ("a = (int)(T)x + 1;", "a = to<int>(to<T>(x)) + 1;"),
        ("a = static_cast<T>(x);", "a = to<T>(x);"),
        ("return T(x);", "return to<T>(x);"),
        ("return T(x, 1);", "return T(x, 1);"),
        ("return T(values...);", "return T(values...);"),
        ("return T({1});", "return T({1});"),
        ("return T();", "return T();"),
        ("g(std::function<int, T(int)>());", "g(std::function<int, T(int)>());"),
        ("T (*g)(T) = f;", "T (*g)(T) = f;"),
        ("new (p) T(x);", "new (p) T(x);"),
        ("p->~T();", "p->~T();"),
    ],
)
def test_a_parameter_of_a_template_may_be_an_integer(code: str, expected: str) -> None:
    opening = "template <class U, typename T = int> __device__ void f() {"
    result = rewrite(f"{opening}{code}}}", "31").replace(MARK, "").replace("::musasim::converted<", "to<")
    assert result.endswith(f"{{{expected}}}")


def test_code_of_the_host_and_of_system_headers_stays() -> None:
    text = (
        '# 1 "k.mu"\nint f(float x) { return (int)x; }\n# 1 "/h.h" 1 3\n__device__ int g(float x) { return (int)x; }\n'
    )
    assert rewrite(text, "31") == text.replace("__device__", "")
