"""What other projects take of torch_musa and torch.cuda: each name is called, on the releases of torch_musa that they run on.

Read in November 2026: LMCache (lmcache/v1/platform/musa), Xinference (device_utils.py), vLLM-Omni (platforms/musa), LightLLM
(device_utils.py), slime and Miles (their accelerators, THUDM/slime 0b035719 and Miles' pull request 1786), FlagGems' backend
"mthreads". What they call of Python packages of their own is left out. test_downstream.py has longer passages of other projects.
"""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

# Each line is true, in the order in which they stand, in one process.
CALLS: dict[str, tuple[tuple[str, ...], str]] = {
    "lmcache": (
        ("2.11.0",),
        """
        hasattr(torch, "musa") and torch.musa.is_available()
        all(callable(getattr(torch.musa.ipc, name)) for name in ("export_tensor", "open_tensor"))
        callable(torch.musa.Event.from_ipc_handle) and callable(torch.musa.Event(interprocess=True).ipc_handle)
        all(callable(getattr(torch.musa.Event, name)) for name in ("record", "wait", "query", "synchronize"))
        torch.musa.ipc.export_tensor(x).device_uuid == str(torch.musa.get_device_properties(0).uuid)
        pickle.loads(pickle.dumps(torch.musa.ipc.export_tensor(x))).size == (2, 3)
        torch.musa.musart().musaHostRegister(host.data_ptr(), host.nbytes, 2) == 0
        torch.musa.musart().musaHostUnregister(host.data_ptr()) == 0
        torch.equal(torch_musa._MUSAC._construct_MUSA_Tensor_From_Storage_And_Metadata(VIEW, storage()), x)
        torch_musa.ExternalStream(torch.musa.current_stream().musa_stream).synchronize() is None
        torch.device("musa", int(torch.musa.current_device())) == x.device
        """,
    ),
    "xinference": (
        ("2.7.1", "2.11.0"),
        """
        importlib.import_module("torchada") and torch.musa.is_available()
        not torch.cuda.is_available()
        torch.get_device_module(torch.device(torch.musa.current_device())) is torch.musa
        torch.get_device_module(torch.device(torch.musa.current_device())).device_count() == torch.musa.device_count() == 2
        torch.musa.empty_cache() is None
        torch.nn.Linear(2, 2).to("musa").weight.is_musa
        torch.backends.mps.is_available() is False
        """,
    ),
    "vllm-omni": (
        ("2.9.1", "2.11.0"),
        """
        torch.device("musa") != torch.device("musa", 1)
        torch.cuda.get_device_capability(0) == torch.musa.get_device_capability(0) >= (3, 1)
        torch.musa.device_count() == 2
        isinstance(torch.version.musa, str)
        torch.musa.synchronize() is None
        torch.musa.Event().record() is None
        torch.musa.mem_get_info(None)[0] <= torch.musa.mem_get_info(torch.device("musa", 0))[1]
        torch.musa.get_device_name(0) == torch.cuda.get_device_name(0)
        """,
    ),
    "lightllm": (
        ("2.7.1",),
        """
        hasattr(torch.version, "musa") and torch.version.musa is not None
        "Tesla" not in torch.cuda.get_device_name(0) and torch.cuda.get_device_name(torch.cuda.current_device())
        not hasattr(torch, "npu")
        [torch.zeros(1).to("cuda:0").to(f"cuda:{index}").device.index for index in range(torch.cuda.device_count())] == [0, 1]
        torch.cuda.empty_cache() is None
        torch.cuda.get_device_capability() < (9, 0)
        """,
    ),
    "slime and miles": (
        ("2.9.1", "2.11.0"),
        """
        torch.musa.is_available() and getattr(torch.version, "hip", None) is None
        torch.musa.set_device("musa:1") is None and torch.musa.current_device() == 1
        torch.musa.set_device(torch.device("musa:0")) is None and torch.musa.current_device() == 0
        torch.musa.synchronize(0) is None and torch.musa.synchronize(torch.device("musa:0")) is None
        torch.musa.current_stream(0) == torch.musa.default_stream(0)
        torch.musa.stream(torch.musa.Stream()).__enter__() is None
        torch.musa.memory_reserved(0) >= torch.musa.memory_allocated(0) >= 0
        torch.musa.max_memory_allocated(0) >= 0 and torch.musa.reset_peak_memory_stats() is None
        torch.musa.ipc_collect() in (True, False, None)
        torch.musa.get_device_properties(0).total_memory == torch.musa.mem_get_info(0)[1]
        torch.musa.set_rng_state_all(torch.musa.get_rng_state_all()) is None
        torch.musa.set_rng_state(torch.musa.get_rng_state(0), 0) is None
        torch.musa.manual_seed(3) is None and torch.musa.initial_seed() == 3
        under(torch.autocast(device_type="musa", dtype=torch.bfloat16, enabled=True)) is torch.bfloat16
        under(torch.musa.amp.autocast(dtype=torch.float16)) is torch.float16
        torch.musa._MUSAC._musa_attach_out_of_memory_observer(lambda *told: None) is None
        callable(getattr(torch.musa.memory, "_set_allocator_settings", callable))
        reduced("cpu:gloo,musa:mccl") == ([1.0], [1.0])
        """,
    ),
    "flaggems": (
        ("2.7.1",),
        """
        [name for name in ("mlu", "musa", "corex", "npu", "gcu", "ptpu") if hasattr(torch, name)] == ["musa"]
        torch.musa.device_count() == 2
        under_device(torch.musa.device(torch.device("musa:1"))) == 1
        torch.library.Library("aten", "IMPL").impl is not None
        torch.empty((2, 3), dtype=torch.float16, device="musa").stride() == (3, 1)
        torch.musa.get_device_capability()[0] >= 2
        """,
    ),
}

GIVEN = """
    import importlib, pickle, torch, torch_musa, torchada
    import torch.distributed as dist
    x, host = torch.arange(6.0, device="musa").view(2, 3), torch.zeros(1024)
    VIEW = {"size": (2, 3), "stride": (3, 1), "dtype": torch.float32, "device": x.device, "storage_offset": 0}
    def storage():
        return torch._C._construct_storage_from_data_pointer(x.data_ptr(), torch.device("musa", 0), x.nbytes)
    def under(autocast):
        with autocast:
            return (x @ x.t()).dtype
    def under_device(device):
        with device:
            return torch.musa.current_device()
    def reduced(backend):
        dist.init_process_group(backend, rank=0, world_size=1, store=dist.HashStore())
        sums = torch.ones(1), torch.ones(1, device="musa")
        for one in sums:
            dist.all_reduce(one)
        dist.destroy_process_group()
        return tuple(one.tolist() for one in sums)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("project", "release"), [(project, release) for project, (releases, _) in CALLS.items() for release in releases]
)
def test_what_a_project_takes_of_the_device_is_there(musa: Interpreter, project: str, release: str) -> None:
    lines = [line.strip() for line in CALLS[project][1].strip().splitlines()]
    code = f"{GIVEN}\n    for line in {lines!r}:\n        assert eval(line), line\n"
    musa.run(code, env={"MUSASIM_RELEASE": release}, forked=True)
