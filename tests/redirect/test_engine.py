"""The engine: all of an area's patches or none, and an undo that restores every dictionary, entry by entry."""

from __future__ import annotations

import array
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchada.redirect.engine import Engine, Patch
from torchada.redirect.owners import MISSING, Attributes, BuiltinType, Items, owner_of

pytestmark = pytest.mark.once


class Base:
    inherited = "base"

    @classmethod
    def made_by(cls) -> type:
        return cls


class Thing(Base):
    attribute = "own"

    @staticmethod
    def static() -> str:
        return "static"

    @classmethod
    def made_by(cls) -> type:
        return cls

    @property
    def value(self) -> str:
        return "value"


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.revert_all()


def module(**entries: Any) -> types.ModuleType:
    made = types.ModuleType("made")
    vars(made).update(entries)
    return made


def entries(owner: Any) -> list[tuple[Any, int]]:
    """The entries that undo must restore: names, in their order, and the identity of each value."""
    found = owner if isinstance(owner, dict) else vars(owner)
    return [(name, id(value)) for name, value in found.items()]


def patch(owner: Any, name: Any, value: object = "patched", refresh: Callable[[], object] | None = None) -> Patch:
    return Patch(owner, name, value, "a test", refresh=refresh)


OWNERS = {
    "module": (lambda: module(a=1, b=2, c=3), "b"),
    "module, new name": (lambda: module(a=1), "b"),
    "dictionary": (lambda: {"a": 1, ("b", 2): 2, "c": 3}, ("b", 2)),
    "dictionary, new key": (lambda: {"a": 1}, 7),
    "class": (lambda: Thing, "attribute"),
    "static method": (lambda: Thing, "static"),
    "class method": (lambda: Thing, "made_by"),
    "property": (lambda: Thing, "value"),
    "inherited attribute": (lambda: Thing, "inherited"),
    "instance": (lambda: types.SimpleNamespace(a=1), "a"),
    "C type": (lambda: array.array, "append"),
    "C type, new name": (lambda: array.array, "torchada_test"),
    "static C type": (lambda: slice, "indices"),
}


@pytest.mark.parametrize(("make", "name"), OWNERS.values(), ids=list(OWNERS))
def test_undo_restores_the_entry_in_its_place(engine: Engine, make: Callable[[], Any], name: Any) -> None:
    owner = make()
    before = entries(owner)
    replacement = staticmethod(lambda: "patched")
    engine.apply("area", [patch(owner, name, replacement)])
    assert dict(entries(owner))[name] == id(replacement)
    engine.revert("area")
    # Deleting a new name leaves the others in their order; a replaced name keeps its place.
    assert entries(owner) == before


def test_calls_see_the_undo_on_a_c_type() -> None:
    """CPython caches methods by type: unless it is notified, it goes on calling the old one."""
    engine, values = Engine(), array.array("i", [1])
    assert values.__len__() == 1 and values.count(1) == 1
    engine.apply("area", [patch(array.array, "count", lambda self, value: "patched")])
    assert values.count(1) == "patched"
    engine.revert("area")
    assert values.count(1) == 1


def test_static_and_class_methods_come_back_as_they_were(engine: Engine) -> None:
    engine.apply("area", [patch(Thing, "static", None), patch(Thing, "made_by", None)])
    engine.revert("area")
    assert Thing.static() == Thing().static() == "static"

    class Child(Thing):
        pass

    assert Child.made_by() is Child


def test_undo_leaves_no_inherited_attribute_behind(engine: Engine) -> None:
    engine.apply("area", [patch(Thing, "inherited")])
    assert Thing.inherited == "patched" and Base.inherited == "base"
    engine.revert("area")
    assert "inherited" not in vars(Thing) and Thing.inherited == "base"


@pytest.mark.parametrize(
    ("owner", "kind"),
    [(module(), Attributes), (Thing, Attributes), ({}, Items), (array.array, BuiltinType), (slice, BuiltinType)],
    ids=["module", "class", "dictionary", "C type", "static C type"],
)
def test_owner_of_finds_the_kind_of_owner(owner: Any, kind: type) -> None:
    assert type(owner_of(owner)) is kind
    assert owner_of(owner).get("not there") is MISSING


def test_a_proxy_is_not_made_to_create_its_object() -> None:
    """Triton's active driver is such a proxy: it looks for a GPU when it is asked for any name that it does not have."""

    class Proxy:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

    assert type(owner_of(Proxy())) is Attributes


class Faulty:
    """An owner that refuses to be changed."""

    __torchada_owner__ = True

    def get(self, name: str) -> Any:
        return MISSING

    def set(self, name: str, value: Any) -> None:
        raise ValueError("refused")

    def delete(self, name: str) -> None:
        raise AssertionError("never set")


@pytest.mark.parametrize("position", [0, 1, 3])
def test_a_failing_patch_undoes_the_others(engine: Engine, position: int) -> None:
    owner = module(a=1, b=2)
    before = entries(owner)
    patches = [patch(owner, "a"), patch(owner, "b"), patch(owner, "new")]
    patches.insert(position, patch(Faulty(), "x"))
    with pytest.raises(ValueError, match="refused"):
        engine.apply("area", patches)
    assert entries(owner) == before
    assert engine.applied() == {}


def test_an_area_that_failed_can_be_applied_later(engine: Engine) -> None:
    owner = module(a=1)
    with pytest.raises(ValueError):
        engine.apply("area", [patch(owner, "a"), patch(Faulty(), "x")])
    engine.apply("area", [patch(owner, "a")])
    assert owner.a == "patched"


def test_a_refresh_that_raises_leaves_nothing_behind(engine: Engine) -> None:
    owner = module(a=1)

    def refresh() -> None:
        if owner.a == "patched":
            raise ValueError("refresh")

    with pytest.raises(ValueError, match="refresh"):
        engine.apply("area", [patch(owner, "a", refresh=refresh)])
    assert owner.a == 1
    assert engine.applied() == {}


def test_apply_is_idempotent_by_area(engine: Engine) -> None:
    owner = module(a=1)
    engine.apply("area", [patch(owner, "a", "first")])
    engine.apply("area", [patch(owner, "a", "second")])
    assert owner.a == "first"
    engine.revert("area")
    assert owner.a == 1


def test_fits_again_says_whether_patches_can_be_applied_again(engine: Engine) -> None:
    owner = module(a=1)
    assert not engine.fits_again("area")
    engine.apply("area", [Patch(owner, "a", 2, "why"), Patch(owner, "b", 3, "why")])
    assert not engine.fits_again("area")
    engine.revert("area")
    assert engine.fits_again("area")
    owner.b = 4
    assert not engine.fits_again("area")


def test_an_entry_patched_twice_in_an_area_is_restored(engine: Engine) -> None:
    owner = module(a=1)
    engine.apply("area", [patch(owner, "a", "first"), patch(owner, "a", "second")])
    assert owner.a == "second"
    engine.revert("area")
    assert owner.a == 1


def test_reverting_what_is_not_applied_does_nothing(engine: Engine) -> None:
    engine.revert("never applied")
    engine.revert_all()


def test_areas_are_reverted_last_first(engine: Engine) -> None:
    owner = module(a=1)
    engine.apply("first", [patch(owner, "a", "first")])
    engine.apply("second", [patch(owner, "a", "second")])
    engine.revert_all()
    assert owner.a == 1


def test_an_area_below_another_can_be_reverted_first(engine: Engine) -> None:
    owner = module(a=1)
    engine.apply("below", [patch(owner, "a", "below")])
    engine.apply("above", [patch(owner, "a", "above")])
    engine.revert("below")
    assert owner.a == "above"
    engine.revert("above")
    assert owner.a == 1


def test_a_patch_of_other_code_on_top_is_left_alone(engine: Engine) -> None:
    owner = module(a=1, b=2)
    engine.apply("area", [patch(owner, "a"), patch(owner, "b"), patch(owner, "new")])
    owner.a = owner.new = "theirs"
    engine.revert("area")
    assert (owner.a, owner.b, owner.new) == ("theirs", 2, "theirs")


def test_an_entry_that_others_have_deleted_is_left_alone(engine: Engine) -> None:
    owner = module(a=1, b=2)
    engine.apply("area", [patch(owner, "a"), patch(owner, "b")])
    del owner.a
    engine.revert("area")
    assert not hasattr(owner, "a") and owner.b == 2


def test_refresh_is_called_once_after_the_change_and_once_after_its_undo(engine: Engine) -> None:
    owner, seen = module(a=1, b=2), []

    def refresh() -> None:
        seen.append((owner.a, owner.b))

    engine.apply("area", [patch(owner, "a", refresh=refresh), patch(owner, "b", refresh=refresh)])
    assert seen == [("patched", "patched")]
    engine.revert("area")
    assert seen == [("patched", "patched"), (1, 2)]


def test_refresh_is_called_after_a_failure_as_well(engine: Engine) -> None:
    owner, seen = module(a=1), []
    with pytest.raises(ValueError):
        engine.apply("area", [patch(owner, "a", refresh=lambda: seen.append(owner.a)), patch(Faulty(), "x")])
    assert seen == [1]


def test_applied_is_in_the_order_of_application_and_a_copy(engine: Engine) -> None:
    owner = module()
    for name in ("c", "a", "b"):
        engine.apply(name, [patch(owner, name)])
    assert list(engine.applied()) == ["c", "a", "b"]
    engine.applied().clear()
    assert [record.before for record in engine.applied()["c"]] == [MISSING]


def test_patches_may_come_from_a_generator(engine: Engine) -> None:
    owner = module(a=1)

    def patches() -> Iterator[Patch]:
        yield patch(owner, "a")
        raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        engine.apply("area", patches())  # type: ignore[arg-type]
    assert owner.a == 1


AREAS, NAMES = ("one", "two", "three"), ("a", "b", "new")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), st.sampled_from(AREAS), st.lists(st.sampled_from(NAMES), max_size=4)),
        st.tuples(st.just("revert"), st.sampled_from(AREAS), st.just([])),
    ),
    max_size=12,
)


@given(steps=STEPS)
def test_any_sequence_of_steps_can_be_undone(steps: list[tuple[str, str, list[str]]]) -> None:
    engine = Engine()
    owners = [module(a=1, b=2), {"a": 1, "b": 2}, type("Made", (Base,), {"a": 1, "b": 2})]
    before = [entries(owner) for owner in owners]
    for act, area, names in steps:
        if act == "revert":
            engine.revert(area)
        else:
            engine.apply(area, [patch(owner, name, object()) for owner in owners for name in names])
    engine.revert_all()
    assert [entries(owner) for owner in owners] == before


@given(names=st.lists(st.sampled_from(NAMES), max_size=6), fault=st.integers(0, 6))
def test_any_failure_changes_nothing(names: list[str], fault: int) -> None:
    engine, owner = Engine(), module(a=1, b=2)
    before = entries(owner)
    patches = [patch(owner, name, object()) for name in names]
    patches.insert(fault, patch(Faulty(), "x"))
    with pytest.raises(ValueError):
        engine.apply("area", patches)
    assert entries(owner) == before


def test_forgetting_drops_the_records_and_leaves_the_patches_in_force() -> None:
    engine, owner = Engine(), types.SimpleNamespace(a=1)
    engine.apply("area", [Patch(owner, "a", 2, "a test")])
    engine.forget()
    assert engine.applied() == {} and owner.a == 2
    engine.revert_all()
    assert owner.a == 2


def test_an_entry_that_is_taken_away(engine: Engine) -> None:
    """So that the owner answers for it in another way; one that is not there stays so."""
    owner = module(taken=1, kept=2)
    before = entries(owner)
    engine.apply("a", [Patch(owner, "taken", MISSING, None), Patch(owner, "nothing", MISSING, None)])
    assert not hasattr(owner, "taken") and owner.kept == 2
    assert all(each.is_in_force for each in engine.applied()["a"])
    engine.revert("a")
    assert sorted(entries(owner)) == sorted(before)
    engine.apply("a", [Patch(owner, "taken", MISSING, None)])
    owner.taken = 3
    engine.revert("a")
    assert owner.taken == 3, "who has set it since keeps it"
