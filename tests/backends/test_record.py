"""Records: what a backend's descriptor and its parts are made of."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from torchada.backends.descriptor import Backend, Graphs, Names
from torchada.backends.musa import MUSA
from torchada.backends.record import Record


class Point(Record):
    """Two numbers and a label."""

    x: int
    y: int = 2
    label: str = "here"


class Named(Point):
    """A record with one more value."""

    name: str = "p"


def test_values_are_given_in_order_or_by_name() -> None:
    assert vars(Point(1)) == {"x": 1, "y": 2, "label": "here"}
    assert vars(Point(1, 3, label="there")) == {"x": 1, "y": 3, "label": "there"}
    assert vars(Named(1, name="q")) == {"x": 1, "y": 2, "label": "here", "name": "q"}
    assert repr(Point(1)) == "Point(x=1, y=2, label='here')"


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ((), {"y": 1}, "Point needs a value for x"),
        ((1, 2, "a", 4), {}, r"Point takes 3 values \(x, y, label\), not 4"),
        ((1,), {"z": 1}, "Point has no z; expected some of x, y, label"),
        ((1,), {"x": 1}, "Point was given two values for x"),
    ],
)
def test_wrong_values_are_refused_by_name(values: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        Point(*values, **named)


def test_a_record_cannot_be_changed() -> None:
    point: Any = Point(1)
    with pytest.raises(AttributeError, match=r"x of a Point cannot be set; dataclasses\.replace makes a changed copy"):
        point.x = 5
    with pytest.raises(AttributeError, match="y of a Point cannot be deleted"):
        del point.y
    assert vars(point) == vars(Point(1))


def test_two_records_are_the_same_where_they_are_one_object() -> None:
    one, other = Point(1), Point(1)
    assert one == one and one != other and len({one, other}) == 2


def test_the_standard_librarys_functions_for_data_classes_take_a_record() -> None:
    changed = dataclasses.replace(MUSA, name="other", graphs=Graphs(executables=1))
    assert type(changed) is Backend and changed.name == "other" and changed.graphs.executables == 1
    assert changed.names is MUSA.names and MUSA.name == "musa"
    assert [field.name for field in dataclasses.fields(Names)] == ["renames", "dispatch_keys", "dnn", "vendor"]
    assert dataclasses.is_dataclass(Point) and dataclasses.asdict(Point(1)) == {"x": 1, "y": 2, "label": "here"}


def test_a_record_can_be_matched_copied_and_pickled() -> None:
    match Point(1, 5):
        case Point(x, y):
            assert (x, y) == (1, 5)
    for copied in (copy.deepcopy(Point(1)), pickle.loads(pickle.dumps(Point(1)))):
        assert type(copied) is Point and vars(copied) == vars(Point(1))
