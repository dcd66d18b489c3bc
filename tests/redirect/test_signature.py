"""The signature that stands for another function's, and is read when somebody looks into it."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from torchada.redirect.calls import disguise
from torchada.redirect.signature import Signature


def original(first: int, second: str = "x", *, third: float = 1.0) -> str:
    """Documented."""
    return second


def test_a_disguised_function_has_the_signature_of_the_original() -> None:
    function = disguise(lambda *args, **kwargs: original(*args, **kwargs), original)
    found = inspect.signature(function)
    assert found == inspect.signature(original) and inspect.signature(original) == found
    assert hash(found) == hash(inspect.signature(original))
    assert repr(found) == repr(inspect.signature(original))
    assert found.bind(1, third=2.0).arguments == {"first": 1, "third": 2.0}


def test_a_signature_is_read_when_it_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    real = inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda function: read.append(function) or real(function))
    signature = Signature.of(original)
    assert read == []
    assert list(signature.parameters) == ["first", "second", "third"]
    assert set(read) == {original}


@pytest.mark.parametrize("taken", [lambda each: pickle.loads(pickle.dumps(each)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("change", [lambda each: each, lambda each: each.replace(return_annotation=int)])
def test_copies_are_ordinary_signatures(taken: Any, change: Any) -> None:
    """A process that reads a pickle may have no torchada."""
    signature = change(Signature.of(original))
    copied = taken(signature)
    assert type(copied) is inspect.Signature and copied == signature


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = Signature.of(original).nothing
