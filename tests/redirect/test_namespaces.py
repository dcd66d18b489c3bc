"""Which of torch's C functions take a device, and which modules hold a function."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from torchada.redirect import namespaces

C: Any = torch._C
NAMES = [name for name in vars(C._VariableFunctionsClass) if not name.startswith("__")]


def _schema_has_device(name: str) -> bool:
    schemas = C._jit_get_schemas_for_operator(f"aten::{name}")
    return any(argument.name == "device" for schema in schemas for argument in schema.arguments)


def test_the_stubs_of_the_installed_torch_leave_out_no_function_that_takes_a_device() -> None:
    without = namespaces._without_device(C)
    assert [name for name in without if _schema_has_device(name)] == []
    assert len(NAMES) - len(without) < 100  # the others are asked for their schemas


def test_no_function_is_left_out_where_stubs_are_missing_or_not_understood(tmp_path: Path) -> None:
    binding = SimpleNamespace(__file__=str(tmp_path / "_C.so"), _VariableFunctionsClass=C._VariableFunctionsClass)
    without = namespaces._without_device.__wrapped__
    assert without(binding) == frozenset()
    (tmp_path / "_C").mkdir()
    stubs = tmp_path / "_C" / "_VariableFunctions.pyi"
    stubs.write_text("def zeros(size, *, where) -> Tensor: ...\ndef eye(n, *, device: Device) -> Tensor: ...\n")
    assert without(binding) == frozenset()
    stubs.write_text("import x\ndef abs(x) -> Tensor: ...\ndef zeros(\n    *, device: Device\n) -> Tensor: ...\n")
    assert "abs" in without(binding) and "zeros" not in without(binding)


def _in_c() -> Callable[..., Any]:
    try:
        from torchada.redirect.native._search import find
    except ImportError:
        pytest.skip("built without a compiler, so there is no search in C")
    return find


@pytest.mark.parametrize("search", ["C", "Python"])
def test_every_entry_that_is_one_of_the_objects_is_found(search: str) -> None:
    find = _in_c() if search == "C" else namespaces.find_in_python
    wanted = [object() for _ in range(500)]
    dictionaries = [{"a": wanted[3], "b": 1}, {}, OrderedDict(c=wanted[499], d=wanted[3], e=[wanted[0]])]
    assert find(dictionaries, wanted) == [(0, "a", wanted[3]), (2, "c", wanted[499]), (2, "d", wanted[3])]
    assert find(dictionaries, []) == [] and find([], wanted) == []


def test_equal_objects_are_not_taken_for_the_same() -> None:
    one, other = [1], [1]
    assert _in_c()([{"a": one, "b": other}], [one]) == [(0, "a", one)]
    assert namespaces.find_in_python([{"a": one, "b": other}], [one]) == [(0, "a", one)]


def test_the_search_in_c_refuses_what_is_no_dictionary() -> None:
    with pytest.raises(TypeError, match="expected a list of dictionaries"):
        _in_c()([{}, 1], [object()])
    with pytest.raises(TypeError):
        _in_c()(({},), [object()])


def test_holders_are_found_under_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def function() -> None: ...

    module, no_module = ModuleType("holder_of_a_function"), SimpleNamespace(held=function)
    vars(module).update(under_another_name=function, held=[function])
    monkeypatch.setitem(sys.modules, "holder_of_a_function", module)
    monkeypatch.setitem(sys.modules, "no_module", no_module)
    found = list(namespaces.holders([function]))
    assert found == [(module, "under_another_name", function), (no_module, "held", function)]
