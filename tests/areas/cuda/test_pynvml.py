"""A program's own `import pynvml`: nvidia-ml-py over Moore Threads' management library."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(find_spec("pynvml") is None, reason="nvidia-ml-py is not installed"),
    pytest.mark.skipif(find_spec("pymtml") is None, reason="mthreads-ml-py is not installed"),
]

DESCRIBED = """
N.nvmlInit()
one, other = map(N.nvmlDeviceGetHandleByIndex, range(2))
memory, newer = N.nvmlDeviceGetMemoryInfo(one), N.nvmlDeviceGetMemoryInfo(one, version=N.nvmlMemory_v2)
rates, place = N.nvmlDeviceGetUtilizationRates(one), N.nvmlDeviceGetPciInfo(other)
print(json.dumps({
    "count": N.nvmlDeviceGetCount(),
    "name": N.nvmlDeviceGetName(one),
    "index": N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByUUID(N.nvmlDeviceGetUUID(other))),
    "by bus": N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByPciBusId(place.busId)),
    "memory": [memory.total >> 30, memory.total - memory.free == memory.used == newer.used],
    "rates": [rates.gpu, rates.memory],
    "place": [place.domain, place.bus, place.device],
    "clock": N.nvmlDeviceGetClockInfo(one, N.NVML_CLOCK_SM),
    "near": len(N.nvmlDeviceGetTopologyNearestGpus(one, N.NVML_TOPOLOGY_SINGLE)),
    "apart": N.nvmlDeviceGetTopologyCommonAncestor(one, other),
    "peers": N.nvmlDeviceGetP2PStatus(one, other, N.NVML_P2P_CAPS_INDEX_WRITE),
}))
"""
DESCRIPTION = {
    "count": 2,
    "name": "MTT S5000 (simulated)",
    "index": 1,
    "by bus": 1,
    "memory": [16, True],
    "rates": [0, 0],
    "place": [0, 2, 0],
    "clock": 1750,
    "near": 1,
    "apart": 10,
    "peers": 0,
}


def test_what_programs_ask_after_torch(musa: Any) -> None:
    found = musa.json("import json, torch, pynvml as N" + DESCRIBED, forked=True)
    assert found == DESCRIPTION


def test_what_programs_ask_that_never_import_torch(musa: Any) -> None:
    found = musa.json("import json, sys, pynvml as N" + DESCRIBED + "assert 'torch' not in sys.modules")
    assert found == DESCRIPTION


def test_figures_are_those_of_torch(musa: Any) -> None:
    code = """
        import json, torch, pynvml as N
        held = torch.empty(1 << 30, dtype=torch.uint8, device="cuda:1")
        N.nvmlInit()
        memory = N.nvmlDeviceGetMemoryInfo(N.nvmlDeviceGetHandleByIndex(1))
        name = N.nvmlDeviceGetName(N.nvmlDeviceGetHandleByIndex(1))
        assert (memory.free, memory.total) == torch.cuda.mem_get_info(1)
        assert name == torch.cuda.get_device_name(1)
        assert N.nvmlDeviceGetUUID(N.nvmlDeviceGetHandleByIndex(1)) == str(torch.cuda.get_device_properties(1).uuid)
        print("1")
    """
    assert musa.json(code, forked=True) == 1


def test_errors_are_nvmls(musa: Any) -> None:
    code = """
        import json, torch, pynvml as N
        def error(function, *arguments):
            try:
                function(*arguments)
            except N.NVMLError as failure:
                return type(failure).__name__
        names = [error(N.nvmlDeviceGetCount)]
        N.nvmlInit()
        one = N.nvmlDeviceGetHandleByIndex(0)
        names += [
            error(N.nvmlDeviceGetHandleByIndex, 9),
            error(N.nvmlDeviceGetHandleByUUID, "nobody"),
            error(N.nvmlDeviceGetTemperature, one, 0),
            error(N.nvmlDeviceGetComputeRunningProcesses, one),
            error(N.nvmlSystemGetCudaDriverVersion),
        ]
        N.nvmlShutdown()
        print(json.dumps([*names, error(N.nvmlDeviceGetName, one)]))
    """
    unknown = ["NVMLError_InvalidArgument", "NVMLError_NotFound"]
    lacking = ["NVMLError_NotSupported"] * 3
    uninitialized = "NVMLError_Uninitialized"
    assert musa.json(code, forked=True) == [uninitialized, *unknown, *lacking, uninitialized]


def test_asking_leaves_the_choice_of_devices_open(musa: Any) -> None:
    """GPUtil and many launchers choose by what is free, and then set CUDA_VISIBLE_DEVICES."""
    code = """
        import os, pynvml as N
        N.nvmlInit()
        N.nvmlDeviceGetMemoryInfo(N.nvmlDeviceGetHandleByIndex(1))
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        import torch
        held = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        assert N.nvmlDeviceGetMemoryInfo(N.nvmlDeviceGetHandleByIndex(1)).used > 1 << 30
        print(torch.cuda.device_count())
    """
    assert musa.json(code) == 1


def test_pynvml_is_nvidias_again_after_disable(musa: Any) -> None:
    code = """
        import json, torch, torchada, pynvml as N
        N.nvmlInit()
        torchada.disable()
        try:
            N.nvmlInit()
        except N.NVMLError_LibraryNotFound:
            torchada.enable()
        N.nvmlInit()
        print(N.nvmlDeviceGetCount())
    """
    assert musa.json(code, forked=True) == 2


def test_without_pymtml_it_is_left_alone_and_status_says_what_to_install(musa: Any) -> None:
    code = """
        import sys
        sys.modules["pymtml"] = None
        import json, torch, pynvml as N
        from torchada.hooks.state import STATE
        print(json.dumps([N.nvmlLib, STATE.areas["libraries.pynvml.package"].reason]))
    """
    library, reason = musa.json(code)
    assert library is None and reason == "pymtml is not installed: pip install mthreads-ml-py"


def test_a_machine_with_nothing_to_do_loads_no_more_of_torchada(plain: Any) -> None:
    code = """
        import json, sys, pynvml as N
        print(json.dumps([N.nvmlLib, sorted(name for name in sys.modules if name.startswith("torchada."))]))
    """
    assert plain.json(code) == [None, ["torchada.hooks", "torchada.hooks.importer"]]


def test_where_torch_turns_out_to_need_nothing_pynvml_is_nvidias(musa: Any) -> None:
    """A build of torch for CUDA with a usable GPU wins over an adapter that is installed."""
    code = """
        import sys, pynvml as N
        redirected = N.nvmlLib is not None
        from torchada.backends import select
        select._usable_cuda_device, select.is_simulated = (lambda: True), (lambda backend: False)
        import json, torch
        print(json.dumps([redirected, N.nvmlLib]))
    """
    assert musa.json(code) == [True, None]
