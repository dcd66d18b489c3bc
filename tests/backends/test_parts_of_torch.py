"""xpu and mps: torch.cuda's names lead to torch.xpu and torch.mps. Their functions are stand-ins here."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once

# The stand-ins are put in before torchada's areas look at the namespace.
BEGIN = """
import os, torchada
torchada.disable()
import torch
calls = []

def stand_in(name, answer=None):
    def call(*args, **kwargs):
        calls.append(name)
        return answer
    call.__name__ = name
    setattr(namespace, name, call)
"""


def run(plain: Interpreter, name: str, code: str) -> None:
    from textwrap import dedent

    begin = f"{BEGIN}\nnamespace = torch.{name}\n"
    plain.run(begin + dedent(code), env={"TORCHADA_PLATFORM": name, "TORCHADA_STRICT": "1"})


@pytest.mark.full
@pytest.mark.parametrize("name", ["xpu", "mps"])
def test_every_area_fits(plain: Interpreter, name: str) -> None:
    code = """
        import torch
        from torchada.control.status import report
        status = report()
        assert not [area for area in status["areas"] if area["outcome"] == "failed"], status["areas"]
        assert not status["problems"], status["problems"]
        import torch._dynamo  # knows functions of PyTorch by identity
    """
    plain.run(code, env={"TORCHADA_PLATFORM": name, "TORCHADA_STRICT": "1"}, forked=True)


@pytest.mark.full
@pytest.mark.parametrize("name", ["xpu", "mps"])
def test_device_strings(plain: Interpreter, name: str) -> None:
    code = """
        import torch
        device = torch.device("cuda", 0)
        print(device, repr(device), torch.device("cuda:0") == device, torch.device("cpu"))
        print(type(device) is torch.device, device.type, torch.cuda.is_available(), torch.cuda.device_count())
    """
    done = plain.run(code, env={"TORCHADA_PLATFORM": name, "TORCHADA_STRICT": "1"}, forked=True)
    assert done.stdout.splitlines() == [
        "cuda:0 device(type='cuda', index=0) True cpu",
        "True cuda False 0",
    ]
    told = plain.run(
        f"import torch; torch.{name}; print(torch.device('cuda').type)", env={"TORCHADA_PLATFORM": name}, forked=True
    )
    assert told.stdout.strip() == name


def test_functions_of_torch_mps_under_cudas_names(plain: Interpreter) -> None:
    code = """
        for name, answer in (("device_count", 1), ("is_available", True), ("current_allocated_memory", 7),
                             ("driver_allocated_memory", 8), ("manual_seed", None), ("synchronize", None)):
            stand_in(name, answer)
        torchada.enable()
        cuda = torch.cuda
        assert cuda.device_count() == 1 and cuda.current_device() == 0
        assert (cuda.memory_allocated(), cuda.memory_reserved()) == (7, 8)
        cuda.manual_seed_all(3), cuda.synchronize(), cuda.set_device(0)
        assert {"current_allocated_memory", "driver_allocated_memory", "manual_seed", "synchronize"} <= set(calls)
        for refused in (cuda.Stream, cuda.CUDAGraph, cuda.get_device_name, lambda: cuda.set_device(1)):
            try:
                refused()
            except torchada.UnsupportedError as error:
                assert "no counterpart on MPS: torch.mps has no" in str(error), error
            else:
                raise SystemExit(refused)
        torchada.disable()
        assert "current_allocated_memory" not in str(cuda.memory_allocated)
    """
    run(plain, "mps", code)


def test_functions_of_torch_xpu_under_cudas_names(plain: Interpreter) -> None:
    code = """
        for name, answer in (("device_count", 2), ("current_device", 1), ("memory_allocated", 7), ("synchronize", None),
                             ("get_device_name", "Arc"), ("set_device", None), ("_lazy_init", None)):
            stand_in(name, answer)
        torchada.enable()
        cuda = torch.cuda
        assert cuda.device_count() == 2 and cuda.current_device() == 1 and cuda.get_device_name(0) == "Arc"
        assert cuda.memory_allocated() == 7
        cuda.synchronize(), cuda.set_device(1), cuda.set_device(torch.device("cuda:1"))
        assert calls.count("set_device") == 2 and "synchronize" in calls
        assert torch.distributed.get_default_backend_for_device("cuda") in ("xccl", "nccl")
    """
    run(plain, "xpu", code)


def test_visible_devices_of_xpu(plain: Interpreter) -> None:
    code = "import os, torch; print(os.environ.get('ZE_AFFINITY_MASK'))"
    env = {"TORCHADA_PLATFORM": "xpu", "CUDA_VISIBLE_DEVICES": "1"}
    assert plain.run(code, env=env, forked=True).stdout.strip() == "1"
