"""What programs ask about devices."""

from __future__ import annotations

import ctypes
import pickle
from operator import add
from pathlib import Path
from typing import Any

import pytest
import torch

import torchada
from support.interpreter import Interpreter


def test_get_device_properties_default_argument_major_and_multi_processor_count() -> None:
    properties = torch.cuda.get_device_properties()
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability()
    assert properties.multi_processor_count > 0
    assert isinstance(properties, torch.cuda._CudaDeviceProperties)
    assert properties is torch.cuda.get_device_properties("cuda:0") is torch.musa.get_device_properties(0)


def test_string_and_device_arguments_to_memory_and_property_calls() -> None:
    for device in (1, "cuda:1", torch.device("cuda", 1)):
        assert torch.cuda.get_device_name(device) == torch.musa.get_device_name(1)
        assert torch.cuda.memory_allocated(device) == torch.musa.memory_allocated(1)
        assert torch.cuda.mem_get_info(device)[1] == torch.cuda.get_device_properties(device).total_memory


def test_properties_say_what_cuda_code_reads() -> None:
    """Triton's and Inductor's heuristics read these."""
    properties = torch.cuda.get_device_properties()
    assert properties.gcnArchName == properties.name
    assert properties.warp_size in (32, 128)
    assert properties.max_threads_per_multi_processor >= 1024
    assert properties.shared_memory_per_block > 0 and properties.L2_cache_size > 0
    assert properties.pci_bus_id != torch.cuda.get_device_properties(1).pci_bus_id
    assert properties.pci_device_id >= 0 and properties.pci_domain_id >= 0


def test_a_runtime_that_numbers_attributes_otherwise_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchada.areas.cuda import _device_attributes as device_attributes

    class OtherRuntime:
        def __init__(self, name: str) -> None: ...

        @staticmethod
        def musaDeviceGetAttribute(value: Any, number: ctypes.c_int, device: ctypes.c_int) -> int:
            value._obj.value = 7
            return 0

    monkeypatch.setattr(device_attributes.ctypes, "CDLL", OtherRuntime)
    attributes = device_attributes.DeviceAttributes(_context())
    with pytest.raises(torchada.UnsupportedError, match=r"warp_size.*numbers its attributes differently"):
        attributes.read("warp_size", torch.cuda.get_device_properties())


def test_a_field_nobody_can_tell_is_a_missing_attribute(musa: Interpreter) -> None:
    code = """
    import ctypes, sys, torch, torchada
    torch.zeros(1, device="cuda")
    sys.modules["pymtml"] = None

    def missing(name):
        raise OSError(name)

    ctypes.CDLL = missing
    properties = torch.cuda.get_device_properties()
    assert getattr(properties, "uuid", "unknown") == "unknown"
    try:
        properties.uuid
    except torchada.UnsupportedError as error:
        assert "libmtml.so.2" in str(error), error
    else:
        raise SystemExit("the field has been told")
    """
    musa.run(code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True)


def test_get_gencode_flags_and_arch_list() -> None:
    assert torch.cuda.get_arch_list() == torch.musa.get_arch_list() != []
    flags = torch.cuda.get_gencode_flags().split()
    assert flags == [f"--offload-arch=mp_{arch}" for arch in torch.cuda.get_arch_list()]


def test_default_generators() -> None:
    torch.cuda.init()
    assert len(torch.cuda.default_generators) == torch.cuda.device_count()
    torch.cuda.default_generators[1].manual_seed(5)
    first = torch.rand(3, device="cuda:1")
    torch.cuda.default_generators[1].manual_seed(5)
    assert torch.equal(first, torch.rand(3, device="cuda:1"))
    assert torch.cuda._get_generator(torch.device("cuda", 1)) is torch.cuda.default_generators[1]
    assert list(torch.cuda.default_generators) == list(torch.musa.default_generators)
    assert isinstance(torch.cuda.default_generators, tuple)
    first, *_ = torch.cuda.default_generators
    assert first in torch.cuda.default_generators and torch.cuda.default_generators.index(first) == 0
    assert tuple(torch.cuda.default_generators) == torch.cuda.default_generators[:] == (*torch.cuda.default_generators,)
    assert add(torch.cuda.default_generators, (1,)) == (*torch.musa.default_generators, 1)
    assert add((1,), torch.cuda.default_generators) == (1, *torch.musa.default_generators)
    copied = pickle.loads(pickle.dumps(torch.cuda.default_generators))
    assert type(copied) is tuple and [each.initial_seed() for each in copied] == [
        each.initial_seed() for each in torch.musa.default_generators
    ]


def test_default_generators_are_empty_before_initialisation(musa: Interpreter) -> None:
    code = """
    import json, torch
    before = len(torch.cuda.default_generators)
    torch.cuda.init()
    print(json.dumps([before, len(torch.cuda.default_generators)]))
    """
    assert musa.json(code, forked=True) == [0, 2]


def test_rng_state_offset() -> None:
    torch.cuda.manual_seed(1)
    torch.cuda._set_rng_state_offset(8)
    assert torch.cuda._get_rng_state_offset() == 8


def test_set_and_get_rng_state_of_all_devices() -> None:
    states = torch.cuda.get_rng_state_all()
    drawn = [torch.rand(2, device=f"cuda:{index}") for index in range(2)]
    torch.cuda.set_rng_state_all(states)
    again = [torch.rand(2, device=f"cuda:{index}") for index in range(2)]
    assert all(torch.equal(one, other) for one, other in zip(drawn, again, strict=True))


@pytest.mark.parametrize("index", [-1, None])
def test_a_negative_device_is_a_no_op(index: Any) -> None:
    """As documented by torch.cuda.device; torch_musa's own sets device -1 and fails."""
    torch.cuda.set_device(1)
    with torch.cuda.device(index):
        assert torch.cuda.current_device() == 1
    with torch.cuda.device_of(torch.zeros(1)):
        assert torch.cuda.current_device() == 1
    torch.cuda.set_device(-1)
    assert torch.cuda.current_device() == 1


@pytest.mark.parametrize("index", [-1, -2])
def test_functions_of_a_negative_device_are_for_the_current_one(of_cuda: None, index: int) -> None:
    """torch.cuda.synchronize(-1), Stream(-1): `with torch.cuda.device(device)` is in all of them."""
    with torch.cuda.device(1):
        torch.cuda.synchronize(index)
        assert torch.cuda.Stream(index).device_index == 1
        handle = torch.cuda.Stream().cuda_stream
        assert torch.cuda.ExternalStream(handle, device=index).device_index == 1
        assert torch.cuda.current_device() == 1


def test_code_that_sees_musa_gets_torch_musas_error_for_a_negative_device() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.cuda.synchronize(-1)


def test_random_states_are_of_numbers_texts_and_devices() -> None:
    state = torch.cuda.get_rng_state(0)
    for call in (torch.cuda.get_rng_state, lambda device: torch.cuda.set_rng_state(state, device)):
        for device, kind in ((1.5, "float"), (None, "NoneType")):
            with pytest.raises(AttributeError, match=f"'{kind}' object has no attribute 'index'"):
                call(device)
        call(torch.device("cuda")), call("cuda:1"), call(1)


def test_device_of_a_storage() -> None:
    with torch.cuda.device_of(torch.zeros(1, device="cuda:1").untyped_storage()):
        assert torch.cuda.current_device() == 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, list(range(64))),
        ({"CUDA_VISIBLE_DEVICES": "1"}, [1]),
        ({"MUSA_VISIBLE_DEVICES": "1,0"}, [1, 0]),
        ({"MUSA_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, [0]),
        ({"MUSA_VISIBLE_DEVICES": "0,0"}, []),
        ({"MUSA_VISIBLE_DEVICES": "GPU-ab,GPU-cd"}, ["GPU-ab", "GPU-cd"]),
        ({"CUDA_VISIBLE_DEVICES": "0, 1,2--one"}, [0, 1, 2]),
    ],
)
def test_parse_visible_devices(musa: Interpreter, variables: dict[str, str], expected: list[Any]) -> None:
    code = "import json, torch; print(json.dumps(torch.cuda._parse_visible_devices()))"
    assert musa.json(code, env=variables, forked=True) == expected


def test_forced_availability_is_whole(musa: Interpreter) -> None:
    code = """
    import json, torch
    print(json.dumps([torch.cuda.is_available(), torch.cuda._is_compiled(), torch._C._cuda_getDeviceCount()]))
    """
    assert musa.json(code, env={"TORCHADA_FORCE_CUDA_AVAILABLE": "1"}, forked=True) == [True, True, 2]


def _context() -> Any:
    from torchada.hooks.state import STATE

    return STATE.context


def test_reload_of_torch_cuda(musa: Interpreter) -> None:
    code = """
    import importlib, json, torch
    importlib.reload(torch.cuda)
    torch.cuda.set_device(1)
    print(json.dumps([torch.cuda.current_device(), torch.cuda.device_count(), str(torch.zeros(1, device="cuda").device)]))
    """
    assert musa.json(code, forked=True) == [1, 2, "cuda:1"]


def test_star_import_and_dir(musa: Interpreter, tmp_path: Path) -> None:
    code = """
    import json, torch
    from torch.cuda import *
    present = [name for name in torch.cuda.__all__ if name not in globals()]
    print(json.dumps([present, sorted(set(torch.cuda.__all__) - set(dir(torch.cuda))), current_device()]))
    """
    missing, hidden, device = musa.json(code, forked=True)
    assert missing == [] and hidden == [] and device == 0


def test_functions_take_the_context_manager_for_its_device() -> None:
    second = torch.cuda.device(torch.cuda.device_count() - 1)
    assert torch.cuda.memory_allocated(second) == torch.cuda.memory_allocated(second.idx)
    assert torch.cuda.get_device_properties(second).name == torch.cuda.get_device_name(second.idx)
    assert torch.cuda.Stream(second).device_index == second.idx
    assert torch.cuda.device(second).idx == second.idx
    stream = torch.cuda.Stream(second)
    external = torch.cuda.ExternalStream(stream.cuda_stream, device=second)
    assert external.device_index == second.idx and external.cuda_stream == stream.cuda_stream
    with torch.cuda.device(0):
        torch.cuda.set_device(second)
        assert torch.cuda.current_device() == second.idx
    torch.cuda.set_device(0)
