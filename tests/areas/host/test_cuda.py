"""torch.cuda on the host: devices, streams, memory, random state, precision, and what it does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from support.interpreter import Interpreter

pytestmark = pytest.mark.once


def test_devices_and_properties(host: Interpreter) -> None:
    code = """
        import os, torch
        cuda = torch.cuda
        assert cuda.is_available() and cuda.device_count() == 1 and cuda.current_device() == 0 and cuda.is_initialized()
        properties = cuda.get_device_properties(0)
        assert properties.name == cuda.get_device_name("cuda:0") and properties.name
        assert properties.total_memory == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        assert properties.multi_processor_count == torch.get_num_threads()
        assert properties is cuda.get_device_properties() and isinstance(properties, cuda._CudaDeviceProperties)
        assert len(cuda.default_generators) == 1
        assert (properties.major, properties.minor) == cuda.get_device_capability() == (7, 0)
        def refused(kind, text, ask, *arguments):
            try:
                ask(*arguments)
            except kind as error:
                assert type(error) is kind and text in str(error), (ask, arguments, error)
            else:
                raise SystemExit((ask, arguments))
        kind = getattr(torch, "AcceleratorError", RuntimeError)
        for ask in (cuda.set_device, cuda.synchronize, cuda.memory_allocated):
            refused(kind, "CUDA error: invalid device ordinal", ask, 1)
        for ask in (cuda.get_device_properties, cuda.get_device_name, cuda.get_device_capability):
            refused(AssertionError, "Invalid device id", ask, 1)
        refused(AssertionError, "Invalid device id", cuda.can_device_access_peer, 1, 0)
        refused(AssertionError, "Invalid peer device id", cuda.can_device_access_peer, 0, 1)
        for device in (None, "cuda", torch.device("cuda"), 1.5):
            refused(ValueError, f"or an integer, but got:{device}", cuda.set_device, device)
        refused(ValueError, "Expected a cuda device, but got: cpu", cuda.set_device, "cpu")
        assert cuda.get_device_name("cuda") == cuda.get_device_name(1.5) and cuda.set_device(-1) is None
        torch.backends.cuda.matmul.allow_tf32 = True
    """
    host.run(code, forked=True)


@pytest.mark.full
def test_several_devices_for_programs_that_count_them(host: Interpreter) -> None:
    code = """
        import torch
        assert torch.cuda.device_count() == 2
        x = torch.ones(2, device="cuda:1")
        assert x.device == torch.device("cuda:1") and x.cuda(1) is x and x.cuda(0).data_ptr() != x.data_ptr()
        with torch.cuda.device(1):
            assert torch.cuda.current_device() == 1 and torch.ones(1, device="cuda").cuda().device.index == 1
        torch.cuda.set_device(1)
        assert (x + x).device.index == 1
    """
    host.run(code, env={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert (
        host.run("import torch; print(torch.cuda.is_available())", env={"CUDA_VISIBLE_DEVICES": ""}).stdout == "False\n"
    )


def test_events_of_other_processes_are_refused_by_name(host: Interpreter) -> None:
    code = """
        import torch, torchada
        event = torch.cuda.Event(interprocess=True)
        for name, ask in {
            "ipc_handle": event.ipc_handle,
            "from_ipc_handle": lambda: torch.cuda.Event.from_ipc_handle(torch.device("cuda"), b""),
        }.items():
            try:
                ask()
            except torchada.UnsupportedError as error:
                assert f"torch.cuda.Event.{name} has no counterpart" in str(error)
            else:
                raise SystemExit(f"{name} answers")
    """
    host.run(code, forked=True)


def test_streams_and_events(host: Interpreter) -> None:
    code = """
        import time, torch
        stream, start, end = torch.cuda.Stream(), *(torch.cuda.Event(enable_timing=True) for _ in range(2))
        before = torch.cuda.current_stream()
        with torch.cuda.stream(stream):
            assert torch.cuda.current_stream() == stream != before
            start.record()
            time.sleep(0.05)
            x = torch.ones(3, device="cuda") * 2
            end.record()
        torch.cuda.current_stream().wait_stream(stream)
        assert torch.cuda.current_stream() == before == torch.cuda.default_stream() and before.cuda_stream == 0
        assert 50 <= start.elapsed_time(end) and x.tolist() == [2, 2, 2]
        assert stream.query() and end.query() and isinstance(stream.record_event(), torch.cuda.Event)
        stream.synchronize(), end.synchronize(), stream.wait_event(end), x.record_stream(stream), torch.cuda.synchronize()
        for first, second in ((torch.cuda.Event(), end), (start, torch.cuda.Event(enable_timing=True))):
            try:
                first.elapsed_time(second)
            except ValueError:
                pass
            else:
                raise SystemExit("measured what was not recorded")
    """
    host.run(code, forked=True)


def test_streams_and_events_by_their_general_names(host: Interpreter) -> None:
    code = """
        import torch
        for make in (lambda: torch.Stream("cuda"), lambda: torch.Stream(device="cuda:0"), torch.Stream, lambda: torch.Stream(0)):
            stream = make()
            assert isinstance(stream, torch.cuda.Stream) and stream.device == torch.device("cuda:0")
        event, later = torch.Event("cuda", enable_timing=True), torch.Event(device="cuda", enable_timing=True)
        with stream:
            assert torch.cuda.current_stream() == stream and torch.cuda.current_stream() is not stream
        stream.record_event(event), event.wait(stream), stream.wait_event(event), stream.wait_stream(torch.Stream("cuda"))
        later.record(stream), later.synchronize()
        assert event.elapsed_time(later) >= 0 and event.query() and torch.Event("cuda:0").device == torch.device("cuda:0")
        assert all(isinstance(each, torch.Event) for each in (event, torch.cuda.Event(), torch.Event()))
        assert torch.Event("cpu").device.type == "cpu"
        for make in (torch.Stream, torch.Event):
            for wrong in ("nonsense", "cuda:7"):
                try:
                    make(wrong)
                except RuntimeError as error:
                    assert "nonsense" in str(error) or "invalid device ordinal 7" in str(error)
                else:
                    raise SystemExit((make, wrong))
        import torchada
        torchada.disable()
        assert type(torch.Event("cpu")) is torch.Event
    """
    host.run(code, forked=True)


def test_out_of_memory(host: Interpreter) -> None:
    code = """
        import torch
        x, huge = torch.ones(1, device="cuda"), torch.ones(1).expand(1 << 50)
        for make in (
            lambda: torch.empty(1 << 60, device="cuda"), lambda: x.new_empty(1 << 60),
            lambda: torch.ones(1).new_empty(1 << 60, device="cuda"), huge.cuda, lambda: huge.to("cuda"),
        ):
            try:
                make()
            except torch.cuda.OutOfMemoryError as error:
                assert str(error).startswith("CUDA out of memory. Tried to allocate ")
            else:
                raise SystemExit("made a tensor that is larger than the memory")
        on_the_cpu = lambda: torch.empty(1 << 60, device="cpu")
        for make in (on_the_cpu, lambda: torch.empty(1 << 60), lambda: torch.ones(1).new_empty(1 << 60)):
            try:
                make()
            except torch.cuda.OutOfMemoryError:
                raise SystemExit("the CPU's memory is not the device's")
            except RuntimeError:
                pass
        assert (x + 1).item() == 2
    """
    host.run(code, forked=True)


def test_memory_is_the_processs(host: Interpreter) -> None:
    code = """
        import torch
        cuda = torch.cuda
        before = cuda.memory_allocated()
        x = torch.ones(50 << 20, dtype=torch.uint8, device="cuda")
        assert cuda.memory_allocated() - before > 40 << 20
        peak = cuda.max_memory_allocated()
        del x
        assert peak >= before + (40 << 20) and cuda.memory_allocated() < peak - (40 << 20)
        cuda.reset_peak_memory_stats()
        assert cuda.memory_allocated() <= cuda.max_memory_allocated() <= peak
        free, total = cuda.mem_get_info()
        assert 0 < free < total == cuda.get_device_properties(0).total_memory
        assert cuda.memory_stats()["allocated_bytes.all.peak"] > 0 and "GPU" in cuda.memory_summary()
        cuda.empty_cache(), cuda.ipc_collect()
    """
    host.run(code, forked=True)


def test_random_state(host: Interpreter) -> None:
    code = """
        import pickle
        import torch
        draw = lambda: torch.rand(3, device="cuda").tolist()
        torch.cuda.manual_seed_all(3)
        first, state = draw(), torch.cuda.get_rng_state()
        second = draw()
        torch.cuda.set_rng_state(state)
        assert draw() == second != first
        torch.manual_seed(3)
        assert draw() == first
        with torch.random.fork_rng(devices=[0]):
            draw()
        with torch.random.fork_rng(device_type="cuda"):
            draw()
        assert draw() == second
        generator = torch.Generator(device="cuda").manual_seed(3)
        assert torch.rand(3, device="cuda", generator=generator).tolist() == first
        for own in (generator, torch.Generator("cuda:0"), torch.Generator(torch.device("cuda"))):
            assert own.device == torch.ones(1, device="cuda").device and isinstance(own, torch.Generator)
            assert type(own) is torch.Generator or not torch.Generator.__weakrefoffset__
            assert pickle.loads(pickle.dumps(own)).initial_seed() == own.initial_seed()
        assert torch.Generator().device == torch.Generator("cpu").device == torch.device("cpu")
        assert torch.randperm(4, device="cuda", generator=generator).device == generator.device
        clone = generator.clone_state()
        assert clone.device == generator.device
        drawn = torch.rand(3, device="cuda", generator=generator)
        assert torch.rand(3, device="cuda", generator=clone).equal(drawn)
        for wrong, kind in (("cuda:7", RuntimeError), ("nonsense", RuntimeError), (1.5, TypeError)):
            try:
                torch.Generator(wrong)
            except kind:
                pass
            else:
                raise SystemExit(f"torch.Generator({wrong!r}) is made")
        assert torch.cuda.initial_seed() == 3 and len(torch.cuda.get_rng_state_all()) == 1
        from torch.utils.checkpoint import checkpoint
        x = torch.ones(64, device="cuda", requires_grad=True)
        checkpoint(lambda y: torch.nn.functional.dropout(y, 0.5) * 2, x, use_reentrant=False).sum().backward()
        assert set(x.grad.tolist()) == {0.0, 4.0}
    """
    host.run(code, forked=True)


@pytest.mark.full
def test_mixed_precision(host: Interpreter) -> None:
    code = """
        import torch
        from torch import nn
        net = nn.Linear(4, 1).cuda()
        optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
        assert scaler.is_enabled()
        for dtype in (torch.float16, torch.bfloat16):
            with torch.autocast("cuda", dtype=dtype):
                assert torch.is_autocast_enabled() and torch.is_autocast_enabled("cuda")
                assert torch.get_autocast_dtype("cuda") is torch.get_autocast_gpu_dtype() is dtype
                loss = net(torch.ones(8, 4, device="cuda"))
                assert loss.dtype is dtype
            assert not torch.is_autocast_enabled()
            scaler.scale(loss.float().square().mean()).backward()
            scaler.step(optimizer)
            scaler.update()
        with torch.cuda.amp.autocast(dtype=torch.bfloat16):
            assert (torch.ones(2, 2).cuda() @ torch.ones(2, 2).cuda()).dtype is torch.bfloat16
    """
    host.run(["-W", "ignore::FutureWarning", "-c", _dedent(code)])


def test_autocast_is_switched_without_a_device_type(host: Interpreter) -> None:
    code = """
        import torch
        x = torch.ones(2, 2, device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            torch.set_autocast_enabled(False)
            assert not torch.is_autocast_enabled() and not torch.is_autocast_enabled("cuda")
            assert (x @ x).dtype is torch.float32
            torch.set_autocast_enabled(enabled=True)
            assert torch.is_autocast_enabled("cuda") and (x @ x).dtype is torch.bfloat16
        torch.set_autocast_enabled("cuda", enabled=True)
        torch.set_autocast_enabled("cuda", False)
        assert not torch.is_autocast_enabled()
    """
    host.run(["-W", "ignore::DeprecationWarning", "-c", _dedent(code)])


def test_a_script_asks_whether_autocast_is_on(host: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text("""
import torch

@torch.jit.script
def asked(x):
    if torch.is_autocast_enabled():
        return x + 1
    return x
""")
    code = """
        import torch
        from asking import asked
        x = torch.ones(2, device="cuda")
        assert asked(x).tolist() == [1, 1] and asked.graph.findNode("aten::is_autocast_enabled") is not None
        with torch.autocast("cuda", dtype=torch.bfloat16):
            assert asked(x).tolist() == [1, 1] and torch.is_autocast_enabled()
    """
    host.run(["-c", _dedent(code)], env={"PYTHONPATH": str(tmp_path)})


def test_marks_for_a_profiler_do_nothing(host: Interpreter) -> None:
    code = """
        import torch
        torch.cuda.profiler.start(), torch.cuda.profiler.stop()
        with torch.cuda.profiler.profile():
            torch.ones(2, device="cuda").sum()
        runtime = torch.cuda.cudart()
        for mark in (runtime.cudaProfilerStart, runtime.cudaProfilerStop):
            torch.cuda.check_error(mark())
            assert mark() == runtime.cudaError.success
        assert not hasattr(runtime, "cudaMemGetInfo")
        try:
            runtime.cudaHostRegister(0, 8, 0)
        except NotImplementedError as error:
            assert "torch.cuda.cudart().cudaHostRegister has no counterpart on HOST" in str(error)
        else:
            raise SystemExit("taken")
    """
    host.run(code, forked=True)


def test_pinning_does_nothing_and_says_nothing(host: Interpreter) -> None:
    code = """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        x = torch.arange(8.0, pin_memory=True).pin_memory()
        for workers in (0, 1):
            for (batch,) in DataLoader(TensorDataset(x), batch_size=4, pin_memory=True, num_workers=workers):
                assert batch.cuda(non_blocking=True).is_cuda
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            y = torch.ones(2, device="cuda", requires_grad=True)
            y.exp().sum().backward()
    """
    host.run(["-W", "error", "-c", _dedent(code)])


def test_compiled_code_sees_what_eager_code_sees(host: Interpreter) -> None:
    code = """
        import torch
        def f(x):
            y = torch.zeros(4, device="cuda") + x.cuda()
            if y.device.type == "cuda" and y.is_cuda and torch.cuda.is_available():
                y = y + torch.ones(4, device=y.device)
            return y.to("cuda")
        x = torch.ones(4)
        assert torch.compile(f, backend="eager", fullgraph=True)(x).tolist() == f(x).tolist() == [2, 2, 2, 2]
        assert torch.compile(f, backend="aot_eager", fullgraph=True)(x).tolist() == [2, 2, 2, 2]
    """
    host.run(code, forked=True)


@pytest.mark.parametrize(
    ("use", "name"),
    [
        ("torch.cuda.MemPool()", "torch.cuda.MemPool"),
        ("torch.cuda.caching_allocator_disabled()", "torch.cuda.caching_allocator_disabled"),
        ("torch.cuda.utilization()", "torch.cuda.utilization"),
    ],
)
def test_what_it_lacks_is_refused_by_name(host: Interpreter, use: str, name: str) -> None:
    if not hasattr(torch.cuda, name.rpartition(".")[2]):
        pytest.skip(f"this torch has no {name}")
    done = host.run(f"import torch; {use}", check=False, forked=True)
    assert f"{name} has no counterpart on HOST" in done.stderr


def _dedent(code: str) -> str:
    from textwrap import dedent

    return dedent(code)
