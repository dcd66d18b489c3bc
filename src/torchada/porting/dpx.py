"""The integer functions that came with CUDA 12 (DPX): a sum and a minimum, minima of three, in whole words and in halves of them.

MUSA is not known to have them, and C++ says them as well: a lambda stands in the place of the function's name.
"""

from __future__ import annotations

from collections.abc import Iterator

_WHOLE = {"s32": "int", "u32": "unsigned int"}
_HALVES = {"s16x2": "short", "u16x2": "unsigned short"}
_MARKS = {"max": ">", "min": "<"}


def _best(mark: str, first: str, second: str) -> str:
    return f"({first} {mark} {second} ? {first} : {second})"


def _values(mark: str) -> Iterator[tuple[str, str, str, bool]]:
    """What each function adds to vi...max or vi...min, before and after it; what it makes of x, y and z; whether there is a z."""
    yield "add", "", f"T s = T((unsigned int)x + (unsigned int)y); T r = {_best(mark, 's', 'z')};", True
    yield "", "3", f"T s = {_best(mark, 'x', 'y')}; T r = {_best(mark, 's', 'z')};", True
    yield "", "", f"T r = {_best(mark, 'x', 'y')};", False


def _function(kind: str, body: str, takes_three: bool) -> str:
    third = ", A c" if takes_three else ""
    if kind in _WHOLE:
        types = f"using T = {_WHOLE[kind]};"
        last = " T z = c;" if takes_three else ""
        return f"({_parameters(_WHOLE[kind], third)} {{ {types} T x = a; T y = b;{last} {body} return r; }})"
    types = f"using T = {_HALVES[kind]};"
    last = " T z = T(c >> at);" if takes_three else ""
    return (
        f"({_parameters('unsigned int', third)} {{ {types} unsigned int all = 0; for (int at = 0; at < 32; at += 16) "
        f"{{ T x = T(a >> at); T y = T(b >> at);{last} {body} all |= (unsigned int)(unsigned short)r << at; }} return all; }})"
    )


def _parameters(type_: str, third: str) -> str:
    return f"[]({type_} a, {type_} b{third.replace('A', type_)})"


def _functions() -> Iterator[tuple[str, str]]:
    for name, mark in _MARKS.items():
        for before, after, body, takes_three in _values(mark):
            for kind in (*_WHOLE, *_HALVES):
                if before or after:
                    yield f"__vi{before}{name}{after}_{kind}", _function(kind, body, takes_three)
                if kind.startswith("s"):
                    yield (
                        f"__vi{before}{name}{after}_{kind}_relu",
                        _function(kind, f"{body} r = r < 0 ? T(0) : r;", takes_three),
                    )
        yield from _with_predicates(name, mark)


def _with_predicates(name: str, mark: str) -> Iterator[tuple[str, str]]:
    """Which also say whether the first was taken."""
    for kind, type_ in _WHOLE.items():
        body = f"{{ *first = a {mark}= b; return *first ? a : b; }}"
        yield f"__vib{name}_{kind}", f"([]({type_} a, {type_} b, bool* first) {body})"
    for kind, type_ in _HALVES.items():
        compared = f"*high = ({type_})(a >> 16) {mark}= ({type_})(b >> 16); *low = ({type_})a {mark}= ({type_})b;"
        taken = "return ((*high ? a : b) & 0xffff0000u) | ((*low ? a : b) & 0xffffu);"
        head = "unsigned int a, unsigned int b, bool* high, bool* low"
        yield f"__vib{name}_{kind}", f"([]({head}) {{ {compared} {taken} }})"


FUNCTIONS = {name: function.encode() for name, function in _functions()}
"""What stands in the place of each name: __viaddmin_s32, __vimax3_u16x2, __vibmin_s32."""
