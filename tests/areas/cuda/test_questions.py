"""What vLLM and SGLang ask about devices before they use one, and after they have forked."""

from __future__ import annotations

import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.interpreter import STAND_INS, Interpreter
from torchada.redirect.calls import original_of

pytestmark = pytest.mark.musa

# As vLLM asks in cuda_device_count_stateless and cuda_is_initialized, and SGLang likewise.
STATELESS = """
import json, os, torch

def stateless_count():
    if not torch.cuda._is_compiled():
        return 0
    raw_count = torch.cuda._device_count_nvml()
    return torch._C._cuda_getDeviceCount() if raw_count < 0 else raw_count

def is_initialized():
    return torch.cuda._is_compiled() and torch.cuda.is_initialized()

def asked():
    return [stateless_count(), torch.cuda.device_count(), is_initialized(), torch.cuda.is_available()]
"""
WITHOUT_MODULE = 'import sys; sys.modules["pymtml"] = None\n'
WITHOUT_LIBRARY = (
    WITHOUT_MODULE
    + """
import ctypes
class Library(ctypes.CDLL):
    def __init__(self, name, *args, **kwargs):
        if str(name).startswith("libmtml"):  # by its name: the simulator loads its own by a path
            raise OSError(f"{name}: cannot open shared object file")
        super().__init__(name, *args, **kwargs)
ctypes.CDLL = Library
"""
)
IN_A_CHILD = """
def in_a_child(ask):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, json.dumps(ask()).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(reader, 10_000))
"""


@pytest.mark.full
@pytest.mark.parametrize("has_module", [False, True])
def test_the_questions_of_servers_before_and_after_a_fork(musa: Interpreter, has_module: bool) -> None:
    code = (
        ("" if has_module else WITHOUT_LIBRARY)
        + STATELESS
        + IN_A_CHILD
        + """
print(json.dumps([asked(), in_a_child(asked), torch.zeros(1, device="cuda").item(), asked(), in_a_child(asked)]))
"""
    )
    env = {"PYTHONPATH": str(STAND_INS)} if has_module else {}
    fresh, used = [2, 2, False, True], [2, 2, True, True]
    assert musa.json(code, env=env, forked=True) == [fresh, fresh, 0.0, used, fresh]


@pytest.mark.full
def test_questions_by_the_management_library_leave_forked_children_the_device(musa: Interpreter) -> None:
    """Without the Python module the driver's library is asked; without both, the runtime, and children cannot use a device then."""
    code = (
        STATELESS
        + IN_A_CHILD
        + """
def use():
    try:
        return torch.ones(2, device="cuda").sum().item()
    except RuntimeError as error:
        return str(error).partition(".")[0]

print(json.dumps([stateless_count(), torch.cuda.device_count(), in_a_child(use)]))
"""
    )
    assert musa.json(code, env={"PYTHONPATH": str(STAND_INS)}, forked=True) == [2, 2, 2.0]
    assert musa.json(WITHOUT_MODULE + code, forked=True) == [2, 2, 2.0]
    assert musa.json(WITHOUT_LIBRARY + code, forked=True) == [
        2,
        2,
        f"Cannot re-initialize {'MUSA' if os.environ.get('TORCHADA_NATIVE') == '0' else 'CUDA'} in forked subprocess",
    ]


ASK_AND_USE = """
import multiprocessing, os, torch
{ask}

def child(queue):
    try:
        queue.put(torch.ones(2, device="cuda").sum().item())
    except RuntimeError as error:
        queue.put(str(error).partition(".")[0])

context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
process = context.Process(target=child, args=(queue,))
process.start()
process.join()
print(queue.get())
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("ask", "keeps"),
    [
        ('os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"; assert torch.cuda.is_available()', True),
        ("assert torch.cuda.device_count() == 2 and torch.cuda._device_count_nvml() == 2", True),
        ("assert torch.musa.is_available() and torch.musa.device_count() == 2", True),
        ("assert torch.cuda.is_available()", False),
    ],
)
def test_children_keep_the_devices_where_nvml_would_be_asked(musa: Interpreter, ask: str, keeps: bool) -> None:
    """As accelerate's notebook_launcher does, which forks. is_available() asks the runtime unless the variable says otherwise."""
    program = (WITHOUT_MODULE if keeps else "") + ASK_AND_USE.format(ask=ask)
    answer = musa.run(program, forked=True).stdout.strip()
    assert answer == "2.0" if keeps else answer.startswith("Cannot re-initialize")


@pytest.mark.full
def test_devices_that_are_hidden_before_the_first_use_count_no_more(musa: Interpreter) -> None:
    code = """
import json, os, torch
counts = [torch.cuda.device_count()]
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
counts += [torch.cuda.device_count(), torch.zeros(1, device="cuda").device.index, torch.cuda.device_count()]
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
print(json.dumps([*counts, torch.cuda.device_count(), torch.cuda._device_count_nvml()]))
"""
    # Without the library the runtime has been asked, which goes by its first look at the environment: cuda:1 is there.
    asked = code.replace('torch.zeros(1, device="cuda")', 'torch.zeros(1, device="cuda:1")')
    assert musa.json(WITHOUT_LIBRARY + asked, forked=True) == [2, 2, 1, 2, 2, 2]
    # The last answer is the library's, which knows nothing of what is in use; torch.cuda's own is the same.
    assert musa.json(code, env={"PYTHONPATH": str(STAND_INS)}, forked=True) == [2, 1, 0, 1, 1, 2]


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch is compiled for CUDA, and says so")
def test_undo_takes_back_the_answers(musa: Interpreter) -> None:
    code = """
    import json, torch, torchada
    torchada.disable()
    cuda = torch.cuda
    print(json.dumps([cuda._is_compiled(), hasattr(torch._C, "_cuda_getDeviceCount"), cuda.device_count(), cuda.is_available()]))
    """
    assert musa.json(code, forked=True) == [False, False, 0, False]


PIECES = st.sampled_from(
    ["0", "1", "2", "10", " 1", "+3", "-1", "1gpu2", "2--one", "", "x", "0x1", "1 ", "GPU-ab", "MIG-cd"]
)


@given(st.lists(PIECES, min_size=1, max_size=4).map(",".join))
def test_visible_devices_are_parsed_as_torch_parses_them(value: str) -> None:
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = value
    try:
        assert torch.cuda._parse_visible_devices() == original_of(torch.cuda._parse_visible_devices)()
    finally:
        os.environ.pop("CUDA_VISIBLE_DEVICES") if before is None else os.environ.update(CUDA_VISIBLE_DEVICES=before)
