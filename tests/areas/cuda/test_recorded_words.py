"""What CUDA says and does in answer to mistakes and old names. The words were read off an NVIDIA GPU (an H100, torch 2.11.0)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

import pytest
import torch
import torch.cuda.comm
import torch.profiler
from torch.profiler import ProfilerActivity

from musasim.base import release
from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.usefixtures("of_cuda")]

OWN = "musa"
SINCE_2_9_1 = release.chosen() >= (2, 9, 1)
NATIVE = pytest.mark.skipif(
    os.environ.get("TORCHADA_NATIVE") == "0",
    reason="the portable mechanism leaves errors of Python's own classes alone",
)
AT_99 = r"CUDA error: invalid device ordinal\n"
MODULE_FOR_MUSA = {"__name__": "xformers.ask", "torch": torch}  # a row gives it the view of the backend


def text_for_musa(call: str, kind: type[BaseException]) -> str:
    """The text of the error that `call` raises in a module that sees MUSA."""
    function = {**MODULE_FOR_MUSA}
    exec(f"def ask():\n    {call}", function)
    with pytest.raises(kind) as caught:
        function["ask"]()  # type: ignore[operator]
    assert type(caught.value) is kind
    return str(caught.value)


WITH_A_DEVICE = ("current_stream", "default_stream", "memory_allocated", "set_device", "synchronize")


@pytest.mark.parametrize("name", WITH_A_DEVICE)
def test_a_device_of_another_kind_is_refused_in_cudas_words(name: str) -> None:
    with pytest.raises(ValueError, match=r"^Expected a cuda device, but got: cpu$"):
        getattr(torch.cuda, name)(torch.device("cpu"))
    assert f"a {OWN} device" in text_for_musa(f"torch.cuda.{name}(torch.device('cpu'))", ValueError)


def test_a_device_without_index_is_refused_in_cudas_words() -> None:
    with pytest.raises(ValueError, match=r"specified index or an integer, but got:cuda$"):
        torch.cuda._utils._get_device_index(torch.device("cuda"))


@pytest.mark.parametrize(
    "call",
    [
        torch.cuda.set_device,
        lambda device: torch.cuda.can_device_access_peer(0, device),
        lambda device: torch.cuda.set_per_process_memory_fraction(0.5, device),
        lambda device: torch.cuda.get_per_process_memory_fraction(device),
        lambda device: torch.cuda.caching_allocator_alloc(16, device),
    ],
    ids=["set_device", "can_device_access_peer", "set_fraction", "get_fraction", "caching_allocator_alloc"],
)
def test_where_an_index_is_needed_the_current_device_is_not_meant(call: Callable[[object], object]) -> None:
    for device in ("cuda", torch.device("cuda")):
        with pytest.raises(ValueError, match=r"specified index or an integer, but got:cuda$"):
            call(device)


def test_no_device_is_no_index_and_for_code_that_knows_musa_the_current_one() -> None:
    for call in (torch.cuda.set_device, lambda device: torch.cuda.can_device_access_peer(0, device)):
        with pytest.raises(ValueError, match=r"specified index or an integer, but got:None$"):
            call(None)
    exec("torch.cuda.set_device(None); torch.cuda.set_device('cuda')", {**MODULE_FOR_MUSA})
    assert torch.cuda.get_per_process_memory_fraction(None) == 1.0


X = torch.ones(4)


@pytest.mark.parametrize("name", ["comm.scatter", "comm.broadcast", "comm.broadcast_coalesced"])
def test_copies_to_a_device_without_index_are_refused_in_cudas_words(name: str) -> None:
    function = getattr(torch.cuda.comm, name.removeprefix("comm."))
    tensors = [X.cuda()] if name.endswith("coalesced") else X.cuda()
    with pytest.raises(ValueError, match=r"specified index or an integer, but got:cuda$"):
        function(tensors, ["cuda", "cuda:1"])
    kept = {**MODULE_FOR_MUSA, "function": function, "tensors": tensors}
    with pytest.raises(ValueError, match=f"got:{OWN}$"):
        exec("function(tensors, ['cuda', 'cuda:1'])", kept)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: torch.cuda.comm.gather([X]), "all input tensors to be CUDA tensors, but tensor at index 0"),
        (lambda: torch.cuda.comm.broadcast(X, out=[X]), "all output tensors to be CUDA tensors, but output tensor at"),
        (lambda: torch.cuda.comm.scatter(X, out=[X]), "all output tensors to be CUDA tensors, but output tensor at"),
        (lambda: torch.nn.parallel.replicate(torch.nn.Linear(2, 2), ["cpu"]), "a non cpu device, but got: cpu"),
    ],
    ids=["gather", "broadcast", "scatter", "replicate"],
)
def test_copies_of_the_wrong_device_are_refused_in_cudas_words(call: Callable[[], object], said: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=f"Expected {said}"):
        call()


@pytest.mark.parametrize("module", [torch.cuda, torch.cuda.memory], ids=lambda module: module.__name__)
@pytest.mark.parametrize("name", ["memory_cached", "max_memory_cached"])
def test_old_names_of_memory_say_what_torch_cuda_has_instead(module: object, name: str) -> None:
    new = name.replace("cached", "reserved")
    with pytest.warns(FutureWarning, match=f"^`torch.cuda.{name}` has been renamed to `torch.cuda.{new}`$"):
        assert getattr(module, name)() == getattr(torch.cuda, new)()


def test_torch_accelerator_names_cuda() -> None:
    for call in (torch.accelerator.current_stream, torch.accelerator.set_device_index):
        with pytest.raises(ValueError, match=r"^cpu doesn't match the current accelerator cuda\.$"):
            call(torch.device("cpu"))
        with pytest.raises(RuntimeError, match=AT_99) as caught:
            call(99)
        assert OWN not in str(caught.value).lower()
    torch.accelerator.set_device_index("cuda:0")
    text = text_for_musa("torch.accelerator.set_device_index(99)", RuntimeError)
    assert text.startswith(f"{OWN.upper()} error")


def test_data_parallel_names_the_devices_of_the_program() -> None:
    model = torch.nn.DataParallel(torch.nn.Linear(3, 2), [0, 1])
    with pytest.raises(
        RuntimeError, match=r"on device cuda:0 \(device_ids\[0\]\) but found one of them on device: cpu"
    ):
        model(torch.ones(2, 3))
    assert model.cuda()(torch.ones(2, 3)).shape == (2, 2)


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(ValueError, match=r"^invalid type: 'torch\.cuda\.Nonsense'$"):
        torch.ones(2, device="cuda").type("torch.cuda.Nonsense")


COLUMNS = ("Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg")


def columns(table: str) -> list[str]:
    header = next(line for line in table.splitlines() if line.strip().startswith("Name"))
    return [column.strip() for column in header.split("  ") if column.strip()]


@pytest.fixture(scope="module")
def profile() -> torch.profiler.profile:
    x = torch.ones(64, 64, device="cuda")
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=both, profile_memory=True) as made:
        (x @ x).sum().item()
        torch.ones(1000, device="cuda")
    return made


def test_a_profile_has_columns_of_cuda(profile: torch.profiler.profile) -> None:
    table = profile.key_averages().table(sort_by="cuda_time_total", row_limit=4)
    shown = columns(table)
    assert shown[6:10] == [*COLUMNS] and "CUDA Mem" in shown and "Self CUDA Mem" in shown
    assert table.splitlines()[-1].startswith("Self CUDA time total: ")
    assert "aten::matmul" in table and OWN.upper() not in table
    assert f" {OWN}_time=" not in repr(profile.events()[0]) + repr(profile.key_averages()[0])
    assert {event.use_device for event in (*profile.events(), *profile.key_averages())} == {"cuda"}


def test_a_program_for_musa_reads_columns_of_musa(profile: torch.profiler.profile) -> None:
    averages = profile.key_averages()
    table = eval("averages.table()", {**MODULE_FOR_MUSA, "averages": averages})
    assert f"Self {OWN.upper()}" in columns(table) and f"Self {OWN.upper()} time total" in table
    assert "CUDA" not in table
    assert averages.table().count("CUDA") > 5  # the first table has changed nothing


def test_the_older_profile_has_columns_of_cuda() -> None:
    x = torch.ones(64, 64, device="cuda")
    with torch.autograd.profiler.profile(use_device="cuda") as made:
        (x @ x).sum().item()
    for table in (str(made), made.table(), str(made.key_averages())):
        assert columns(table)[6:10] == [*COLUMNS] and OWN.upper() not in table


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_autocast_takes_every_type_as_cuda_does(dtype: torch.dtype) -> None:
    x = torch.ones(4, 4, device="cuda", requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        autocast = torch.autocast("cuda", dtype=dtype)
    with autocast:
        assert torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == dtype
        product = x @ x
    assert product.dtype == dtype and product.tolist() == [[4.0] * 4] * 4
    product.sum().backward()
    assert x.grad is not None and x.grad.dtype == torch.float32
    assert not torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.float16


def test_autocast_that_is_switched_off_keeps_its_type() -> None:
    with torch.autocast("cuda", dtype=torch.int8, enabled=False):
        assert not torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.int8


def of_time() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)


@pytest.mark.skipif(torch.__version__ < "2.9", reason="CUDA raises RuntimeError before torch 2.9")
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (torch.cuda.Event, "Both events must be created with argument 'enable_timing=True'."),
        (of_time, "Both events must be recorded before calculating elapsed time."),
    ],
)
def test_events_without_a_time_are_refused_by_value(make: Callable[[], torch.cuda.Event], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        make().elapsed_time(make())
    assert str(caught.value) == text
    text_for_musa("torch.cuda.Event().elapsed_time(torch.cuda.Event())", RuntimeError)


def test_the_time_between_two_events() -> None:
    first, second = of_time(), of_time()
    first.record()
    second.record()
    torch.cuda.synchronize()
    assert first.elapsed_time(second) >= 0


@NATIVE
@pytest.mark.skipif(not hasattr(torch, "AcceleratorError"), reason="torch has the class from 2.8 on")
def test_an_error_of_the_runtime_has_the_class_that_cuda_raises() -> None:
    for call in (torch.cuda.set_device, torch.cuda.synchronize, torch.accelerator.set_device_index):
        with pytest.raises(torch.AcceleratorError, match=AT_99) as caught:
            call(99)
        assert caught.value.error_code == 101
    assert text_for_musa("torch.cuda.set_device(99)", RuntimeError).startswith(f"{OWN.upper()} error")
    with pytest.raises(RuntimeError) as other:
        torch.ones(1, device="cuda") + torch.ones(1)
    assert type(other.value) is RuntimeError


GROUP = """
    import json, torch, torch.distributed as dist
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    def said(tensor, op):
        try:
            dist.all_reduce(tensor, op=op)
        except (TypeError, ValueError, RuntimeError) as error:
            return [type(error).__name__, str(error)]
    tensor = torch.ones(3, device="cuda")
    print(json.dumps([said(tensor, dist.ReduceOp.BAND), said(tensor.short(), dist.ReduceOp.SUM)]))
    dist.destroy_process_group()
"""


def test_groups_speak_of_nccl(musa: Interpreter) -> None:
    # torch_musa's words, and 2.7.1's one class; CUDA's refuse both, in clearer words.
    kinds, spelled = (["ValueError", "TypeError"], "is") if SINCE_2_9_1 else (["RuntimeError"] * 2, "in")
    assert musa.json(GROUP, forked=True) == [
        [kinds[0], "Unexpected ReduceOp: \x05"],
        [kinds[1], f"Input tensor data type {spelled} not supported for NCCL process group: Short"],
    ]
