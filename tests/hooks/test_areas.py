"""What the registry knows of areas before any is applied."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from support.interpreter import Interpreter
from torchada.hooks.area import Area

pytestmark = [pytest.mark.once, pytest.mark.core]


def test_areas_are_the_same_objects_each_time_and_none_is_loaded(plain: Interpreter) -> None:
    plain.run(
        """
        import sys
        from torchada.areas import WINGS
        from torchada.hooks.registry import REGISTRY
        areas = REGISTRY.areas_of("torch")
        assert len(areas) > 10 and {area.name.partition(".")[0] for area in areas} <= set(WINGS)
        assert [area.as_data()["module"] for area in areas] == ["torch"] * len(areas)
        assert all(one is other for one, other in zip(areas, REGISTRY.areas_of("torch"), strict=True))
        files = [name for name in sys.modules if name.startswith("torchada.areas.") and name.count(".") > 2]
        assert files == [], files
        """
    )


@pytest.fixture
def context() -> Any:
    """As much of a context as an area is asked for before its patches are made."""
    return SimpleNamespace(settings=SimpleNamespace(skip_areas=frozenset()), backend=SimpleNamespace(name="toy"))


def fail(context: Any) -> Any:
    raise ValueError("broken")


def test_an_area_that_fails_returns_its_fault(context: Any) -> None:
    area = Area("wing.fail", "torch", SimpleNamespace(fail=fail))
    fault = area.apply(context, (), None)
    assert isinstance(fault, ValueError)
    assert area.as_data() == {
        "name": "wing.fail",
        "module": "torch",
        "outcome": "failed",
        "reason": "ValueError: broken",
        "patches": 0,
    }


@pytest.mark.parametrize(
    ("skipped", "replaced", "reason"),
    [
        ({"wing"}, set(), "named in TORCHADA_SKIP_AREAS"),
        ({"wing.file"}, set(), "named in TORCHADA_SKIP_AREAS"),
        (set(), {"wing.file.fail"}, "the platform toy answers for this itself"),
    ],
)
def test_an_area_that_is_left_out_is_not_even_made(
    context: Any, skipped: set[str], replaced: set[str], reason: str
) -> None:
    context.settings.skip_areas = frozenset(skipped)
    area = Area("wing.file.fail", "torch", SimpleNamespace(file=SimpleNamespace(fail=fail)))
    assert area.apply(context, replaced, None) is None
    assert (area.outcome, area.reason) == ("skipped", reason)
    context.settings.skip_areas = frozenset({"wing.fil"})  # the beginning of a name is none
    assert area.apply(context, (), None) is not None
