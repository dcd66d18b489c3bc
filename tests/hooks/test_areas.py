"""What the registry knows of areas before any is applied."""

from __future__ import annotations

import json
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from support.interpreter import Interpreter
from torchada.areas import FORMER_NAMES, WINGS
from torchada.hooks.area import Area

pytestmark = pytest.mark.once


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
    return SimpleNamespace(backend=SimpleNamespace(name="toy"))


def fail(context: Any) -> Any:
    raise ValueError("broken")


def test_an_area_that_fails_returns_its_fault(context: Any) -> None:
    area = Area("wing.fail", "torch", SimpleNamespace(fail=fail))
    fault = area.apply(context, (), (), None)
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
    area = Area("wing.file.fail", "torch", SimpleNamespace(file=SimpleNamespace(fail=fail)))
    assert area.apply(context, skipped, replaced, None) is None
    assert (area.outcome, area.reason) == ("skipped", reason)
    assert area.apply(context, {"wing.fil"}, (), None) is not None  # the beginning of a name is none


@pytest.mark.musa
def test_an_area_is_skipped_by_the_name_that_it_had_before(musa: Interpreter) -> None:
    code = """
        import json, torch
        from torchada.control.status import report
        print(json.dumps({area["name"]: area["reason"] for area in report()["areas"] if area["outcome"] == "skipped"}))
    """
    done = musa.run(code, env={"TORCHADA_SKIP_AREAS": "dispatch.waiting,precision.amp", "TORCHADA_STRICT": "0"})
    assert {"kernels.host_synchronizing", "precision.amp"} <= json.loads(done.stdout).keys()
    (warning,) = [line for line in done.stderr.splitlines() if "TORCHADA_SKIP_AREAS" in line]
    assert "the area 'dispatch.waiting' is called 'kernels.host_synchronizing' now" in warning


def test_each_former_name_leads_to_an_area_that_exists() -> None:
    areas = {f"{wing}.{name}" for wing in (*WINGS, "host") for names in table(wing).values() for name in names}
    assert set(FORMER_NAMES.values()) <= areas and not FORMER_NAMES.keys() & areas


def table(wing: str) -> dict[str, tuple[str, ...]]:
    areas: dict[str, tuple[str, ...]] = import_module(f"torchada.areas.{wing}").AREAS
    return areas
