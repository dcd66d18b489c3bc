"""torch.device and its like: every form is translated, and every type stays the type it was."""

from __future__ import annotations

import copy
import functools
import pickle
import typing
from typing import Any, Optional

import pytest
import torch


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: torch.device("cuda"), "musa"),
        (lambda: torch.device("cuda:0"), "musa:0"),
        (lambda: torch.device("cuda:1"), "musa:1"),
        (lambda: torch.device("cuda", 1), "musa:1"),
        (lambda: torch.device(type="cuda", index=1), "musa:1"),
        (lambda: torch.device("cuda", index=1), "musa:1"),
        (lambda: torch.device(torch.device("cuda:1")), "musa:1"),
        (lambda: torch.device(1), "musa:1"),
        (lambda: torch.device("musa:1"), "musa:1"),
        (lambda: torch.device("cpu"), "cpu"),
        (lambda: torch.device("cpu", 0), "cpu:0"),
        (lambda: torch.device("meta"), "meta"),
    ],
)
def test_every_form_of_a_device(made: Any, expected: str) -> None:
    device = made()
    assert str(device) == expected
    assert type(device) is torch.device


@pytest.mark.parametrize(
    "arguments", [(), ("cuda:x",), ("cuda:-2",), ("cpu:-1",), ("cud",), (1.5,), ([],), ("cuda", 1, 2), ("cuda:1", 1)]
)
def test_device_strings_that_torch_refuses_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        torch.device(*arguments)


def test_the_error_names_what_the_user_wrote() -> None:
    with pytest.raises(RuntimeError, match="cuda:x"):
        torch.device("cuda:x")


def test_isinstance_type_module_and_qualname_of_a_device() -> None:
    assert type(torch.device("cuda")) is torch.device
    assert torch.device.__module__ == "torch"
    assert torch.device.__qualname__ == "device"
    assert repr(torch.device) == "<class 'torch.device'>"
    assert isinstance(torch.device("cuda"), torch.device)
    assert not isinstance("cuda", torch.device)
    with pytest.raises(TypeError):
        type("Sub", (torch.device,), {})


def test_optional_annotations_and_singledispatch() -> None:
    def takes(device: torch.device | None) -> None: ...

    assert typing.get_type_hints(takes)["device"] == Optional[torch.device] == (torch.device | None)  # noqa: UP045

    @functools.singledispatch
    def kind(value: object) -> str:
        return "other"

    kind.register(torch.device, lambda value: "device")
    assert kind(torch.device("cuda")) == "device"


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "cpu", "meta"])
def test_pickle_and_deepcopy_of_a_device(name: str) -> None:
    device = torch.device(name)
    for again in (copy.copy(device), copy.deepcopy(device), pickle.loads(pickle.dumps(device))):
        assert again == device
        assert hash(again) == hash(device)


def test_a_pickled_device_is_readable_on_a_cuda_machine() -> None:
    assert b"cuda" in pickle.dumps(torch.device("cuda:1"))
    assert b"musa" not in pickle.dumps(torch.device("cuda:1"))


def test_the_type_of_a_device_is_the_backends() -> None:
    """What torch and torch_musa compare it with; a device that said "cuda" would send both the wrong way."""
    device = torch.device("cuda")
    assert device.type == torch.zeros(1, device="cuda").device.type == "musa"
    assert torch.zeros(1, device=device).is_cuda


def test_devices_compare_with_tensors_devices() -> None:
    x = torch.zeros(1, device="cuda")
    assert x.device == torch.device("cuda:0")
    assert {torch.device("cuda:0"): 1}[x.device] == 1


def test_repr_round_trip() -> None:
    device = torch.device("cuda:1")
    assert eval(repr(device), {"device": torch.device}) == device
    assert torch.device(str(device)) == device


def test_device_as_context_manager() -> None:
    with torch.device("cuda:1"):
        assert torch.zeros(2).device == torch.device("cuda:1")
        assert torch.zeros(2, device="cpu").device.type == "cpu"
        assert torch.tensor([1.0]).device == torch.device("cuda:1")
        assert torch.device("cuda").type == "musa"
    assert torch.zeros(2).device.type == "cpu"


@pytest.mark.parametrize("device", ["cuda", "cuda:1", torch.device("cuda", 1)])
def test_set_and_get_default_device(device: Any) -> None:
    torch.set_default_device(device)
    index = torch.device(device).index or 0
    assert torch.get_default_device() == torch.device("cuda", index)
    assert torch.randn(2).device == torch.nn.Linear(2, 2).weight.device == torch.device("cuda", index)
    torch.set_default_device("cpu")
    assert torch.randn(2).device.type == "cpu"


def test_get_device_module() -> None:
    assert torch.get_device_module("cuda") is torch.cuda
    assert torch.get_device_module("cuda:1") is torch.cuda
    assert torch.get_device_module("cpu") is torch.cpu


@pytest.mark.parametrize("spell", [lambda: torch.Generator("cuda"), lambda: torch.Generator(device="cuda:0")])
def test_generator(spell: Any) -> None:
    generator = spell()
    assert type(generator) is torch.Generator
    assert generator.device.type == "musa"
    generator.manual_seed(5)
    first = torch.rand(4, generator=generator, device="cuda")
    generator.manual_seed(5)
    assert torch.equal(first, torch.rand(4, generator=generator, device="cuda"))


def test_generator_can_be_subclassed() -> None:
    class Own(torch.Generator):
        pass

    own = Own(device="cuda")
    assert isinstance(own, Own)
    assert own.device.type == "musa"


def test_stream_and_event_of_torch() -> None:
    assert torch.Stream("cuda").device.type == "musa"
    assert torch.Stream(device="cuda:1").device == torch.device("cuda:1")
    event = torch.Event("cuda", enable_timing=True)
    event.record()
    event.synchronize()
    assert event.query()


def test_untyped_storage() -> None:
    storage = torch.UntypedStorage(8, device="cuda")
    assert storage.device.type == "musa"
    assert storage.is_cuda
    assert torch.UntypedStorage(8).device.type == "cpu"
    assert not torch.UntypedStorage(8).is_cuda
