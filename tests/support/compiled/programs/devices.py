"""torch.device, contexts of devices, streams and events."""

from __future__ import annotations

from typing import Any

import torch

from support.compiled.program import Programs

PROGRAMS = Programs()


@PROGRAMS.add("torch.device.__new__", "torch.device.tp_new")
def device(x: torch.Tensor) -> Any:
    one, other = torch.device("cuda"), torch.device("cuda", 1)
    return (
        torch.ones(2, device=one),
        torch.ones(2, device=other),
        one,
        other,
        torch.device(type="cuda", index=1),
        torch.device("cuda:0"),
    )


@PROGRAMS.add()
def device_chosen_by_name(x: torch.Tensor) -> Any:
    made = []
    for name in ("cpu", "cuda", "cuda:1"):
        made.append(torch.arange(3, device=torch.device(name)) + 1)
    return made


def _on(x: torch.Tensor, index: int) -> Any:
    return torch.ones(2, device=torch.device("cuda", index)) + 1, x.to(torch.device(type="cuda", index=index))


@PROGRAMS.add()
def device_by_number(x: torch.Tensor) -> Any:
    return _on(x, 0), _on(x, 1)


@PROGRAMS.add()
def device_by_changing_number(x: torch.Tensor) -> Any:
    if torch.compiler.is_compiling():  # its first call; the second number is a symbol
        torch._dynamo.graph_break()
    on = torch.compile(_on, backend="eager", fullgraph=False)
    return on(x, 0), on(x, 1), on(x, 0)


@PROGRAMS.add()
def device_after_break(x: torch.Tensor) -> Any:
    moved, own, host = x.to, torch.device("cuda:1"), torch.device("cpu")
    torch._dynamo.graph_break()
    return moved(own), moved(device=own), moved(host)


@PROGRAMS.add()
def device_of_no_kind(x: torch.Tensor) -> Any:
    return torch.ones(2, device="cuda:x")


@PROGRAMS.add()
def device_that_is_not_there(x: torch.Tensor) -> Any:
    return torch.ones(2, device="cuda:7") + 1


@PROGRAMS.add("torch.get_device_module", native=False)
def device_module(x: torch.Tensor) -> Any:
    module = torch.get_device_module("cuda")
    return module.current_device(), module.device_count(), torch.get_device_module(x.device).device_count(), x + 1


@PROGRAMS.add()
def device_as_context(x: torch.Tensor) -> Any:
    with torch.device("cuda"):
        made = torch.ones(2)
        with torch.device("cuda:1"):
            inner = torch.zeros(2) + 1
    return made, inner, torch.ones(2)


@PROGRAMS.add(differs="torch.compile goes on with a default device that has been set back to None, on every device")
def default_device(x: torch.Tensor) -> Any:
    torch.set_default_device("cuda:1")
    made = torch.ones(2), torch.get_default_device(), torch.tensor([1.0])
    torch.set_default_device(None)
    return made, torch.ones(2)


@PROGRAMS.add()
def current_device(x: torch.Tensor) -> Any:
    with torch.cuda.device(1):
        inner = torch.cuda.current_device(), torch.ones(2, device="cuda")
    return inner, torch.cuda.current_device(), x + 1


@PROGRAMS.add("torch_musa._exchange_device")
def synchronized_device(x: torch.Tensor) -> Any:
    torch.cuda.synchronize(1)
    return torch.cuda.current_device(), x + 1


@PROGRAMS.add()
def device_context_by_name(x: torch.Tensor) -> Any:
    with torch.cuda.device("cuda:1"):
        inner = torch.ones(2, device="cuda") * 2
    with torch.cuda.device(torch.device("cuda:1")):
        return inner, torch.zeros(2, device="cuda")


# On CUDA too: the graph for autograd says "cuda", and runs when the context has been left.
@PROGRAMS.add(native=False, differs="graphs for autograd lose which device was the current one")
def device_context_with_break(x: torch.Tensor) -> Any:
    with torch.cuda.device(1):
        y = torch.ones(2, device="cuda") + 1
        torch._dynamo.graph_break()
        z = torch.ones(2, device="cuda") * y
    return y, z, torch.cuda.current_device()


@PROGRAMS.add()
def device_of(x: torch.Tensor) -> Any:
    with torch.cuda.device_of(x.to("cuda:1")):
        made = torch.ones(2, device="cuda")
    return made, torch.cuda.current_device()


@PROGRAMS.add()
def counting(x: torch.Tensor) -> Any:
    if torch.cuda.device_count() > 1 and torch.cuda.is_initialized():
        return x * torch.cuda.device_count(), torch.cuda.current_device()
    return x - 1


@PROGRAMS.add(native=False)
def available(x: torch.Tensor) -> Any:
    return x * 2 if torch.cuda.is_available() else x * 3


@PROGRAMS.add()
def current_device_after_set(x: torch.Tensor) -> Any:
    torch.cuda.set_device(1)
    made = torch.ones(2, device="cuda"), torch.cuda.current_device()
    torch.cuda.set_device(0)
    return made, torch.cuda.current_device()


@PROGRAMS.add()
def generator(x: torch.Tensor) -> Any:
    random = torch.Generator(device="cuda").manual_seed(3)
    return torch.rand(3, device="cuda", generator=random), random.device


@PROGRAMS.add("torch._C.Generator.__new__", "torch._C.Generator.tp_new")
def generators(x: torch.Tensor) -> Any:
    return (
        torch.Generator("cuda:1").device,
        torch.Generator(device=torch.device("cuda")).device,
        torch.Generator().device,
        x + 1,
    )


@PROGRAMS.add("torch.Stream.__new__", "torch.Stream.tp_new")
def generic_stream(x: torch.Tensor) -> Any:
    stream = torch.Stream(device="cuda:1")
    stream.synchronize()
    return stream.device, x + 1


@PROGRAMS.add("torch.Event.__new__", "torch.Event.tp_new")
def generic_event(x: torch.Tensor) -> Any:
    event = torch.Event(device="cuda")
    event.record()
    return event.device, event.query(), x + 1


@PROGRAMS.add("torch_musa.core.stream.Stream.__new__")
def stream_context(x: torch.Tensor) -> Any:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = x * 2
    torch.cuda.current_stream().wait_stream(stream)
    return y + 1, stream.device


@PROGRAMS.add()
def stream_context_with_break(x: torch.Tensor) -> Any:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        y = x * 2
        torch._dynamo.graph_break()
        inside = torch.cuda.current_stream() == stream
    return y + 1, inside, torch.cuda.current_stream() == stream


@PROGRAMS.add()
def stream_context_of_none(x: torch.Tensor) -> Any:
    with torch.cuda.stream(None):
        return x * 2


@PROGRAMS.add("torch_musa.core.stream.Event.__new__", "torch_musa.core.stream.Event.elapsed_time")
def events(x: torch.Tensor) -> Any:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    y = x * 2
    end.record()
    end.synchronize()
    return y, start.elapsed_time(end) >= 0, end.query()


@PROGRAMS.add("torch_musa.core.stream.Stream.cuda_stream", "torch_musa.core.stream.Event.cuda_event")
def handles(x: torch.Tensor) -> Any:
    event = torch.cuda.Event()
    event.record()
    return torch.cuda.default_stream().cuda_stream, torch.cuda.Stream().cuda_stream != 0, event.cuda_event != 0, x + 1


@PROGRAMS.add("torch_musa.core.stream.Stream.__cuda_stream__", native=False)
def stream_protocol(x: torch.Tensor) -> Any:
    return torch.cuda.default_stream().__cuda_stream__(), x + 1


@PROGRAMS.add()
def record_stream(x: torch.Tensor) -> Any:
    y = x + 1
    y.record_stream(torch.cuda.current_stream())
    return y


@PROGRAMS.add()
def properties(x: torch.Tensor) -> Any:
    found = torch.cuda.get_device_properties(0)
    return found.name, found.total_memory > 0, found.multi_processor_count, (found.major, found.minor), x + 1


@PROGRAMS.add("torch_musa._MUSAC._MusaDeviceProperties.gcnArchName", "torch._C._CudaDeviceProperties", native=False)
def architecture(x: torch.Tensor) -> Any:
    return torch.cuda.get_device_properties(0).gcnArchName, x + 1


@PROGRAMS.add(
    *(
        f"torch_musa._MUSAC._MusaDeviceProperties.{name}"
        for name in (
            "max_threads_per_block",
            "shared_memory_per_block",
            "warp_size",
            "clock_rate",
            "memory_clock_rate",
            "pci_bus_id",
            "pci_device_id",
            "pci_domain_id",
            "memory_bus_width",
            "L2_cache_size",
            "max_threads_per_multi_processor",
            "shared_memory_per_multiprocessor",
            "regs_per_multiprocessor",
            "shared_memory_per_block_optin",
        )
    ),
    native=False,
)
def attributes(x: torch.Tensor) -> Any:
    found = torch.cuda.get_device_properties(0)
    return (
        found.max_threads_per_block,
        found.shared_memory_per_block,
        found.warp_size,
        found.clock_rate,
        found.memory_clock_rate,
        found.pci_bus_id,
        found.pci_device_id,
        found.pci_domain_id,
        found.memory_bus_width,
        found.L2_cache_size,
        found.max_threads_per_multi_processor,
        found.shared_memory_per_multiprocessor,
        found.regs_per_multiprocessor,
        found.shared_memory_per_block_optin,
        x + 1,
    )


@PROGRAMS.add("torch_musa._MUSAC._MusaDeviceProperties.uuid", native=False)
def uuid(x: torch.Tensor) -> Any:
    return str(torch.cuda.get_device_properties(0).uuid), x + 1


@PROGRAMS.add("torch.cuda.default_generators")
def default_generators(x: torch.Tensor) -> Any:
    return torch.cuda.default_generators[0].device, len(torch.cuda.default_generators), x + 1


@PROGRAMS.add("torch.cuda.pynvml", native=False)
def monitoring(x: torch.Tensor) -> Any:
    return torch.cuda.utilization(0) >= 0, x + 1


@PROGRAMS.add("torch.random.fork_rng")
def fork_rng(x: torch.Tensor) -> Any:
    with torch.random.fork_rng(devices=[0], device_type="cuda"):
        inner = torch.rand(2, device="cuda")
    return inner, torch.rand(2, device="cuda")


@PROGRAMS.add(
    "torch._C._accelerator_synchronizeDevice",
    "torch._C._accelerator_emptyCache",
    "torch._C._accelerator_resetAccumulatedStats",
    "torch._C._accelerator_resetPeakStats",
    "torch._C._accelerator_setDeviceIndex",
    "torch._C._accelerator_getStream",
    native=False,
)
def accelerator(x: torch.Tensor) -> Any:
    torch.accelerator.set_device_index("cuda:0")
    torch.accelerator.current_stream()
    torch.accelerator.synchronize()
    torch.accelerator.reset_peak_memory_stats()
    torch.accelerator.reset_accumulated_memory_stats()
    torch.accelerator.empty_cache()
    return torch.accelerator.current_accelerator(), torch.accelerator.current_device_index(), x + 1


@PROGRAMS.add(
    "torch._C._accelerator_getDeviceStats",
    "torch._C._accelerator_getMemoryInfo",
    "torch._C._accelerator_isAllocatorInitialized",
    native=False,
)
def accelerator_memory(x: torch.Tensor) -> Any:
    free, total = torch.accelerator.get_memory_info()
    return sorted(torch.accelerator.memory_stats())[:3], 0 < free <= total, x + 1
