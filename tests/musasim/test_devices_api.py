"""torch.musa's functions for devices, and torch.accelerator, which uses them."""

# ruff: noqa: E402

from __future__ import annotations

import pytest

import musasim

musasim.install()

import torch
import torch_musa
from torch_musa.core._utils import _get_musa_arch, _get_musa_device_index

from musasim import native_names
from musasim.base import release
from support.fresh_process import run
from support.plain_torch import plain_torch  # noqa: F401

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def first_device():
    torch.musa.set_device(0)
    yield
    torch.musa.set_device(0)


def test_device_count_is_that_of_the_simulated_machine() -> None:
    assert torch.musa.is_available() and torch.musa.device_count() == 2
    assert torch.musa.current_device() == 0


@pytest.mark.parametrize("device", [1, "musa:1", torch.device("musa", 1), torch.device("musa:1")])
def test_set_device(device) -> None:
    torch.musa.set_device(device)
    assert torch.musa.current_device() == 1
    assert torch.ones(1, device="musa").device == torch.device("musa:1")


def test_set_device_ignores_a_negative_index() -> None:
    torch.musa.set_device(1)
    torch.musa.set_device(-1)
    assert torch.musa.current_device() == 1


@pytest.mark.parametrize("device", ["cpu", "cuda:0", torch.device("cpu")])
def test_set_device_refuses_devices_of_other_types(device) -> None:
    with pytest.raises(ValueError, match="Expected a musa device, but got"):
        torch.musa.set_device(device)


@pytest.mark.parametrize("device", [torch.device("musa"), 1.5])
def test_what_names_no_device_is_refused(device) -> None:
    with pytest.raises(ValueError, match=f"specified index or an integer, but got:{device}"):
        torch.musa.set_device(device)


def test_torch_device_without_index() -> None:
    torch.musa.set_device("musa")
    torch.musa.synchronize(torch.device("musa"))
    assert _get_musa_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a musa or cpu device"):
        _get_musa_device_index("cuda:0", allow_cpu=True)


def test_what_names_no_index_means_the_current_device_where_none_is_needed() -> None:
    """As in torch.cuda: an index of NumPy's, for example, is no int."""
    torch.musa.set_device(1)
    for device in (1.5, object(), torch.device("musa")):
        assert _get_musa_device_index(device, optional=True) == 1


def test_a_block_object_is_a_device() -> None:
    torch.musa.set_device(torch.musa.device(1))
    assert torch.musa.current_device() == 1
    assert torch.musa.memory_stats(torch.musa.device(0)) == torch.musa.memory_stats(0)


def test_index_out_of_range() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.musa.set_device(7)


def test_device_block() -> None:
    with torch.musa.device(1) as nothing:
        assert nothing is None and torch.musa.current_device() == 1
        with torch.musa.device("musa:0"):
            assert torch.musa.current_device() == 0
        assert torch.musa.current_device() == 1
    assert torch.musa.current_device() == 0
    with torch.musa._DeviceGuard(1):
        assert torch.musa.current_device() == 1
    with torch_musa.core._lazy_init.device(1):
        assert torch.musa.current_device() == 1
    assert torch.musa.current_device() == 0


def test_device_of() -> None:
    with torch.musa.device_of(torch.ones(1, device="musa:1")):
        assert torch.musa.current_device() == 1
    assert torch.musa.current_device() == 0


def test_device_of_asks_for_the_device_alone() -> None:
    class Holder:
        device = torch.device("musa:1")

        def get_device(self) -> int:
            return 1

    with torch.musa.device_of(Holder()):
        assert torch.musa.current_device() == 1


def test_negative_index_in_a_block_is_an_error_as_in_torch_musa() -> None:
    for block in (torch.musa.device(-1), torch.musa.device_of(torch.ones(1))):
        with pytest.raises(RuntimeError, match="invalid device ordinal"), block:
            pass
    assert torch.musa.current_device() == 0


def test_properties() -> None:
    properties = torch.musa.get_device_properties(1)
    fields = {name for name in dir(properties) if not name.startswith("_")}
    later = {
        name.partition(".")[2] for name in native_names.ADDED["2.11.0"] if name.startswith("_MusaDeviceProperties.")
    }
    assert fields == (later if release.since("2.11.0") else set()) | {
        "name",
        "major",
        "minor",
        "is_multi_gpu_board",
        "is_integrated",
        "multi_processor_count",
        "total_memory",
    }
    assert torch.musa.get_device_name(1) == properties.name
    assert torch.musa.get_device_capability() == (properties.major, properties.minor)
    if release.since("2.11.0"):
        assert torch.musa.get_device_properties() is torch.musa.get_device_properties(0)
    else:
        with pytest.raises(TypeError):
            torch.musa.get_device_properties()
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.musa.get_device_properties(2)


def test_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch.musa.get_arch_list() == ["22", "31"]
    assert torch.musa.is_bf16_supported() and torch.musa.is_tf32_supported()
    assert _get_musa_arch() >= 22


def test_architecture_by_the_variable(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TORCH_MUSA_ARCH", "21")
    assert _get_musa_arch() == 21
    assert capsys.readouterr().out == "Using pre-defined musa arch: 21\n"
    for text in ("80", "mp_22", ""):
        monkeypatch.setenv("TORCH_MUSA_ARCH", text)
        with pytest.raises(ValueError, match="TORCH_MUSA_ARCH"):
            _get_musa_arch()


def test_any_architecture_is_taken_since_2_11_0_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_MUSA_ARCH", "9999")
    monkeypatch.setenv("TORCH_MUSA_SKIP_ARCH_CHECK", "1")
    monkeypatch.setenv("MUSASIM_RELEASE", "2.9.1")
    with pytest.raises(ValueError, match="TORCH_MUSA_ARCH"):
        _get_musa_arch()
    monkeypatch.setenv("MUSASIM_RELEASE", "2.11.0")
    assert _get_musa_arch() == 9999


def test_types_and_architecture_without_a_device() -> None:
    code = """
    import torch, torch_musa
    from torch_musa.core._utils import _get_musa_arch
    print(torch.musa.is_bf16_supported(), torch.musa.is_tf32_supported(), torch.bfloat16 in torch.musa.get_amp_supported_dtype())
    print(_get_musa_arch())
    """
    answers, *_, arch = run(code, MUSA_VISIBLE_DEVICES="").splitlines()
    assert answers == "False False False" and arch == "22"


def test_peer_access_excludes_the_device_itself() -> None:
    assert torch.musa.can_device_access_peer(0, 1) and not torch.musa.can_device_access_peer(0, 0)
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.musa.can_device_access_peer(5, 0)
    with pytest.raises(AssertionError, match="Invalid peer device id"):
        torch.musa.can_device_access_peer(0, 5)


def test_ipc_collect_and_blas_handles_have_torchs_types() -> None:
    assert isinstance(torch.musa.ipc_collect(), bool)
    assert isinstance(torch.musa.current_blas_handle(), int) and isinstance(torch.musa.current_blaslt_handle(), int)


def test_accelerator() -> None:
    acc = torch.accelerator
    assert acc.is_available() and acc.device_count() == 2
    assert acc.current_accelerator().type == "musa"
    acc.set_device_index(1)
    assert torch.musa.current_device() == acc.current_device_index() == 1
    stream = torch.musa.Stream(1)
    acc.set_stream(stream)
    assert torch.musa.current_stream() == stream and acc.current_stream().stream_id == stream.stream_id
    torch.musa.set_stream(torch.musa.default_stream(1))


def test_accelerator_waits_for_a_device_since_2_11_0() -> None:
    if not release.since("2.11.0"):
        with pytest.raises(RuntimeError, match="doesn't support synchroniz"):
            torch.accelerator.synchronize()
        return
    stream = torch.musa.Stream(1)
    with torch.musa.stream(stream):
        torch.musa._sleep(20_000_000)
    torch.accelerator.synchronize(1)
    assert stream.query()


def test_default_device() -> None:
    torch.set_default_device("musa")
    try:
        assert torch.ones(2).device == torch.device("musa:0")
        assert torch.nn.Linear(2, 2).weight.is_musa
    finally:
        torch.set_default_device(None)
    with torch.device("musa:1"):
        assert torch.randn(2).device == torch.device("musa:1")
        assert torch.tensor([1, 2]).device == torch.device("musa:1")
    assert torch.ones(2).device == torch.device("cpu")


def test_get_device_module() -> None:
    assert torch.get_device_module("musa") is torch_musa
