"""torch.testing's tests for each type of device: a class of tests for CUDA, and none beside it for the same device by another name.

`only_for` may still name the backend's own type, as the vendor's tests do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    from torch.testing._internal import common_device_type as tests

    filtered: Callable[..., list[type]] = tests.filter_desired_device_types

    def filter_desired_device_types(
        device_type_test_bases: list[type], except_for: Any = None, only_for: Any = None
    ) -> list[type]:
        bases = filtered(device_type_test_bases, _types(except_for), _types(only_for))
        if tests.CUDATestBase not in bases:
            return bases
        return [base for base in bases if base is not tests.PrivateUse1TestBase]

    replacement = disguise(filter_desired_device_types, filtered)
    note = "torch.testing._internal.common_device_type.instantiate_device_type_tests"
    yield Patch(tests, "filter_desired_device_types", replacement, None, note=note)


def _types(named: Any) -> Any:
    """A list of types of devices. Until 2.8, torch takes a name by itself for its letters where there is a backend like ours."""
    return [named] if isinstance(named, str) else named
