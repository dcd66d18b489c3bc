"""The driver's management library, asked in C: what it counts agrees with the devices, and what goes wrong is told."""

from __future__ import annotations

import pytest
import torch

from torchada.areas.cuda._driver_library import DriverLibrary

pytestmark = pytest.mark.musa
NAMES = ("libmtml.so.2", "libmtml.so")


def test_it_counts_all_devices_and_knows_their_identities() -> None:
    library = DriverLibrary(("libnothing.so.1", *NAMES), "mtml")
    assert library.count == torch.musa.device_count()
    assert len(set(library.uuids)) == library.count
    assert library.uuids[1] == str(torch.cuda.get_device_properties(1).uuid)


@pytest.mark.parametrize(
    ("names", "prefix", "message"),
    [
        (("libnothing.so.1",), "mtml", r"cannot be loaded: libnothing.so.1"),
        ((), "", r"cannot be loaded: none is known"),
        (NAMES, "none", r"has no function noneLibraryInit"),
    ],
)
def test_without_an_answer_the_error_says_why(names: tuple[str, ...], prefix: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        _ = DriverLibrary(names, prefix).count


def test_a_refusal_is_an_error_that_names_the_function() -> None:
    library = DriverLibrary(NAMES, "mtml")
    with (
        pytest.raises(RuntimeError, match=r"mtmlLibraryInitDeviceByIndex with the error \d+"),
        library._opened() as opened,
    ):
        library._call("LibraryInitDeviceByIndex", opened, 4096, None)
