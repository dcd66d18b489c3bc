"""The simulated device where it differs visibly from the CPU: errors, memory, randomness, time, threads."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from musasim.base import release
from support import fresh_process

if TYPE_CHECKING:
    from collections.abc import Iterator

torch = pytest.importorskip("torch", reason="needs torch")

pytestmark = [pytest.mark.musa, pytest.mark.usefixtures("torch_musa"), pytest.mark.once]

MIB = 1 << 20


@pytest.fixture
def core(torch_musa: Any) -> Any:
    return torch_musa._MUSAC


@pytest.fixture
def clean_memory(core: Any) -> Iterator[Any]:
    gc.collect()
    core._musa_emptyCache()
    core._musa_resetPeakMemoryStats(0)
    core._musa_resetAccumulatedMemoryStats(0)
    yield core
    core._musa_setMemoryFraction(1.0, 0)


def allocated(core: Any, device: int = 0) -> int:
    return int(core._musa_memoryStats(device)["allocated_bytes"]["all"]["current"])


def reserved(core: Any, device: int = 0) -> int:
    return int(core._musa_memoryStats(device)["reserved_bytes"]["all"]["current"])


class TestDeviceChecks:
    @pytest.mark.parametrize("other", ["cpu", "musa:1"])
    @pytest.mark.parametrize(
        "operation",
        [
            lambda a, b: a + b,
            lambda a, b: a.add_(b),
            lambda a, b: a @ b,
            lambda a, b: torch.cat([a, b]),
            lambda a, b: torch.add(a, a, out=b),
            lambda a, b: torch.nn.functional.linear(a, b),
            lambda a, b: torch.where(a > 0, a, b),
        ],
    )
    def test_tensors_of_two_devices_do_not_mix(self, operation: Any, other: str) -> None:
        a, b = torch.ones(3, 3, device="musa"), torch.ones(3, 3, device=other)
        with pytest.raises(RuntimeError, match=f"found at least two devices, musa:0 and {other}!"):
            operation(a, b)

    def test_the_host_tensor_may_come_first(self) -> None:
        with pytest.raises(RuntimeError, match="found at least two devices, musa:0 and cpu!"):
            torch.ones(3) + torch.ones(3, device="musa")

    def test_host_scalars_are_accepted_by_pointwise_operators(self) -> None:
        a = torch.ones(3, device="musa")
        assert (a * torch.tensor(2.0)).tolist() == [2, 2, 2]
        assert torch.tensor(3.0).sub(a).device.type == "musa"

    def test_host_scalars_are_refused_elsewhere(self) -> None:
        with pytest.raises(RuntimeError, match="found at least two devices"):
            torch.index_select(torch.ones(3, device="musa"), 0, torch.tensor(1))

    def test_a_host_scalar_cannot_be_the_output(self) -> None:
        with pytest.raises(RuntimeError, match="found at least two devices"):
            torch.tensor(1.0).add_(torch.tensor(1.0, device="musa"))

    def test_host_indices_are_accepted(self) -> None:
        a = torch.arange(4.0, device="musa")
        assert a[torch.tensor([1, 3])].tolist() == [1, 3]
        a[torch.tensor([0])] = 7
        assert a.tolist() == [7, 1, 2, 3]

    def test_a_generator_of_the_wrong_device_is_refused(self) -> None:
        with pytest.raises(RuntimeError, match="Expected a 'musa' device type for generator but found 'cpu'"):
            torch.rand(2, device="musa", generator=torch.Generator())

    def test_numpy_refuses_device_memory(self) -> None:
        with pytest.raises(TypeError, match="can't convert musa:0 device type tensor to numpy"):
            torch.ones(1, device="musa").numpy()


def snapshot(core: Any) -> dict[str, Any]:
    """Since 2.9.1 the function takes the pool whose segments are wanted."""
    taken: dict[str, Any] = core._musa_memorySnapshot(*([None] if release.since("2.9.1") else []))
    return taken


class TestDevices:
    @pytest.mark.parametrize("index", [2, 9])
    def test_an_index_out_of_range_is_refused(self, index: int) -> None:
        with pytest.raises(RuntimeError, match="MUSA error: invalid device ordinal"):
            torch.zeros(1, device=f"musa:{index}")

    def test_exchange_device_refuses_minus_one_and_maybe_exchange_ignores_it(self, core: Any) -> None:
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            core._musa_exchangeDevice(-1)
        assert core._musa_maybeExchangeDevice(-1) == -1

    def test_the_current_device_belongs_to_the_thread(self, core: Any) -> None:
        seen: list[int] = []

        def other() -> None:
            seen.append(core._musa_getDevice())
            core._musa_setDevice(1)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert seen == [0] and core._musa_getDevice() == 0

    def test_a_tensor_goes_to_the_current_device(self, core: Any) -> None:
        previous = core._musa_exchangeDevice(1)
        try:
            assert torch.zeros(1, device="musa").device == torch.device("musa", 1)
            assert (torch.zeros(1, device="musa:0") + 1).device == torch.device("musa", 0)
        finally:
            core._musa_setDevice(previous)

    @pytest.mark.full
    @pytest.mark.parametrize(
        ("mask", "count"),
        [("0", 1), ("1,0", 2), ("", 0), ("-1", 0), ("0,7,1", 1), ("1 , 2", 2), ("0,0", 0), ("junk", 0)],
    )
    def test_visible_devices(self, mask: str, count: int) -> None:
        code = "from musasim.build import load; import torch; print(load()._musa_getDeviceCount())"
        assert int(fresh_process.run(code, MUSA_VISIBLE_DEVICES=mask, MUSASIM_DEVICE_COUNT="3")) == count

    def test_a_tensor_without_a_device_is_refused(self) -> None:
        error = fresh_process.run(
            "import torch, torch_musa; torch.zeros(1, device='musa')", ok=False, MUSASIM_DEVICE_COUNT="0"
        )
        assert "No MUSA GPUs are available" in error or "no MUSA-capable device" in error

    @pytest.mark.full
    @pytest.mark.parametrize("use", ["torch.zeros(1, device='musa')", "torch.musa.device_count()"])
    def test_a_forked_child_is_refused(self, use: str) -> None:
        out = fresh_process.run(
            f"""
            import os, torch, torch_musa
            {use}
            if os.fork() == 0:
                try:
                    torch.zeros(1, device="musa")
                except RuntimeError as error:
                    print(error)
                print(torch_musa._MUSAC._musa_isInBadFork(), flush=True)
                os._exit(0)
            os.wait()
            print((torch.ones(1, device="musa") + 1).item())
            """
        )
        assert "Cannot re-initialize MUSA in forked subprocess. To use MUSA with multiprocessing" in out
        assert out.splitlines()[-2:] == ["True", "2.0"]

    def test_a_child_forked_before_initialisation_may_use_the_device(self) -> None:
        out = fresh_process.run(
            """
            import os, torch, torch_musa
            pid = os.fork()
            if pid:
                os.wait()
            print(torch.ones(1, device="musa").item(), flush=True)
            if pid == 0:
                os._exit(0)
            """
        )
        assert out.split() == ["1.0", "1.0"]


class TestMemory:
    def test_blocks_are_rounded_and_segments_cached(self, clean_memory: Any) -> None:
        before, held = allocated(clean_memory), reserved(clean_memory)
        small = torch.empty(1, device="musa")
        assert allocated(clean_memory) == before + 512
        large = torch.empty(3 * MIB, dtype=torch.uint8, device="musa")
        assert allocated(clean_memory) == before + 512 + 3 * MIB
        assert reserved(clean_memory) >= held + 20 * MIB
        del small, large
        assert allocated(clean_memory) == before
        assert reserved(clean_memory) >= held + 20 * MIB
        clean_memory._musa_emptyCache()
        assert reserved(clean_memory) == held

    def test_results_of_operators_are_counted(self, clean_memory: Any) -> None:
        a = torch.ones(MIB, device="musa")
        before = allocated(clean_memory)
        b = a + a
        assert allocated(clean_memory) == before + 4 * MIB
        view = b[10:]
        assert allocated(clean_memory) == before + 4 * MIB
        del b
        assert allocated(clean_memory) == before + 4 * MIB
        del view
        assert allocated(clean_memory) == before

    def test_host_tensors_are_not_counted(self, clean_memory: Any) -> None:
        before = allocated(clean_memory)
        kept = torch.ones(MIB) + 1
        assert allocated(clean_memory) == before and kept.device.type == "cpu"

    def test_peak(self, clean_memory: Any) -> None:
        base = allocated(clean_memory)
        block = torch.empty(8 * MIB, dtype=torch.uint8, device="musa")
        del block
        assert clean_memory._musa_memoryStats(0)["allocated_bytes"]["all"]["peak"] == base + 8 * MIB
        clean_memory._musa_resetPeakMemoryStats(0)
        assert clean_memory._musa_memoryStats(0)["allocated_bytes"]["all"]["peak"] == base

    def test_devices_are_counted_separately(self, clean_memory: Any) -> None:
        zero, one = allocated(clean_memory, 0), allocated(clean_memory, 1)
        kept = torch.empty(100, device="musa:1")
        assert allocated(clean_memory, 0) == zero and allocated(clean_memory, 1) == one + 512
        del kept

    def test_out_of_memory_names_sizes_and_device(self, clean_memory: Any) -> None:
        told: list[tuple[int, int]] = []
        clean_memory._musa_attach_out_of_memory_observer(lambda device, size, total, free: told.append((device, size)))
        with pytest.raises(
            torch.OutOfMemoryError, match=r"MUSA out of memory. Tried to allocate 17.00 GiB. GPU 0 has a"
        ):
            torch.empty(17 << 30, dtype=torch.uint8, device="musa")
        assert told == [(0, 17 << 30)]
        assert clean_memory._musa_memoryStats(0)["num_ooms"] == 1

    def test_an_operator_runs_out_of_memory_too(self, clean_memory: Any) -> None:
        a = torch.ones(MIB, device="musa")
        clean_memory._musa_setMemoryFraction(0.002, 0)
        with pytest.raises(torch.OutOfMemoryError, match="MUSA out of memory"):
            torch.cat([a] * 64)
        clean_memory._musa_setMemoryFraction(1.0, 0)
        assert torch.cat([a] * 2).sum().item() == 2 * MIB

    def test_cached_memory_is_freed_before_an_error_is_raised(self, clean_memory: Any) -> None:
        free, total = clean_memory._musart.musaMemGetInfo(0)
        block = torch.empty(total * 2 // 3, dtype=torch.uint8, device="musa")
        del block
        torch.empty(total * 3 // 4, dtype=torch.uint8, device="musa")
        assert clean_memory._musa_memoryStats(0)["num_alloc_retries"] == 1
        assert free <= total

    def test_streams_do_not_share_free_blocks(self, clean_memory: Any, torch_musa: Any) -> None:
        block = torch.empty(512, dtype=torch.uint8, device="musa")
        address = block.data_ptr()
        del block
        with torch_musa.stream(torch_musa.Stream()):
            assert torch.empty(512, dtype=torch.uint8, device="musa").data_ptr() != address
        assert torch.empty(512, dtype=torch.uint8, device="musa").data_ptr() == address

    def test_record_stream_keeps_a_block(self, clean_memory: Any, torch_musa: Any) -> None:
        side = torch_musa.Stream()
        with torch_musa.stream(side):
            clean_memory._musa_sleep(50_000_000)
        block = torch.empty(512, dtype=torch.uint8, device="musa")
        address = block.data_ptr()
        block.record_stream(side)
        del block
        assert torch.empty(512, dtype=torch.uint8, device="musa").data_ptr() != address
        side.synchronize()
        torch.empty(1, device="musa")
        states = [b["state"] for s in snapshot(clean_memory)["segments"] for b in s["blocks"]]
        assert "active_pending_free" not in states

    def test_snapshot_agrees_with_the_statistics(self, clean_memory: Any) -> None:
        kept = [torch.empty(n, device="musa") for n in (1, 1000, MIB)]
        segments = [s for s in snapshot(clean_memory)["segments"] if s["device"] == 0]
        assert sum(s["allocated_size"] for s in segments) == allocated(clean_memory)
        assert sum(s["total_size"] for s in segments) == reserved(clean_memory)
        assert all(sum(b["size"] for b in s["blocks"]) == s["total_size"] for s in segments)
        assert len(kept) == 3

    def test_storage_resize(self, clean_memory: Any) -> None:
        a = torch.arange(4.0, device="musa")
        a.untyped_storage().resize_(64)
        assert a.tolist() == [0, 1, 2, 3] and a.untyped_storage().nbytes() == 64
        a.untyped_storage().resize_(0)
        assert a.untyped_storage().nbytes() == 0


class TestWrongValueTraps:
    """Each of these once gave wrong values without an error."""

    def test_abs_of_a_transposed_tensor(self) -> None:
        a = torch.arange(-6.0, 6.0).reshape(3, 4)
        assert torch.equal(a.to("musa").t().abs().cpu(), a.t().abs())

    def test_out_that_is_transposed(self) -> None:
        a = torch.arange(12.0).reshape(3, 4)
        out = torch.empty(4, 3, device="musa").t()
        torch.add(a.to("musa"), 1, out=out)
        assert torch.equal(out.cpu(), a + 1) and out.stride() == (1, 3)

    @pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
    def test_out_is_resized(self) -> None:
        out = torch.empty(0, device="musa")
        torch.matmul(torch.ones(2, 3, device="musa"), torch.ones(3, 4, device="musa"), out=out)
        assert out.shape == (2, 4) and out.cpu().eq(3).all() and out.untyped_storage().nbytes() == 32

    def test_in_place_through_views(self) -> None:
        a = torch.zeros(4, 4, device="musa")
        a[1:3, ::2].add_(1).mul_(5)
        a.t()[0].fill_(2)
        expected = torch.zeros(4, 4)
        expected[1:3, ::2] = 5
        expected[:, 0] = 2
        assert torch.equal(a.cpu(), expected)

    def test_overlapping_memory_is_refused(self) -> None:
        a = torch.arange(4.0, device="musa")
        with pytest.raises(RuntimeError, match="single memory location"):
            a[1:].add_(a[:-1])

    def test_views_share_memory_and_autograd_sees_it(self) -> None:
        a = torch.ones(4, device="musa", requires_grad=True)
        b = a * 1
        b[:2].mul_(3)
        b.sum().backward()
        assert a.grad.tolist() == [3, 3, 1, 1]

    def test_conjugate_and_negative_views(self) -> None:
        a = torch.tensor([1 + 2j, 3 - 1j], device="musa")
        assert a.conj().is_conj() and a.conj().cpu().tolist() == [1 - 2j, 3 + 1j]
        assert a.conj().imag.cpu().tolist() == [-2, 1]
        assert (a.conj() * a).cpu().tolist() == [5, 10]

    def test_foreach_changes_every_tensor(self) -> None:
        tensors = [torch.ones(n, device="musa") for n in (1, 2)]
        torch._foreach_add_(tensors, 2.0)
        assert [t.tolist() for t in tensors] == [[3], [3, 3]]

    def test_dropout_twice_under_checkpoint(self) -> None:
        from torch.utils.checkpoint import checkpoint

        a = torch.ones(1000, device="musa", requires_grad=True)
        out = checkpoint(lambda x: torch.dropout(x, 0.5, True) * x, a, use_reentrant=False)
        out.sum().backward()
        assert torch.equal(a.grad.cpu(), 2 * out.detach().cpu())


class TestRandomness:
    def test_the_device_does_not_disturb_the_host(self) -> None:
        torch.manual_seed(1)
        expected = torch.rand(3)
        torch.manual_seed(1)
        torch.rand(100, device="musa")
        torch.nn.functional.dropout(torch.ones(100, device="musa"))
        torch.randperm(100, device="musa")
        assert torch.equal(torch.rand(3), expected)

    def test_the_host_does_not_disturb_the_device(self) -> None:
        torch.manual_seed(1)
        expected = torch.rand(3, device="musa")
        torch.manual_seed(1)
        torch.rand(100)
        assert torch.equal(torch.rand(3, device="musa"), expected)

    @pytest.mark.parametrize(
        "draw",
        [
            lambda **o: torch.rand(50, device="musa", **o),
            lambda **o: torch.randperm(50, device="musa", **o),
            lambda **o: torch.empty(50, device="musa").normal_(**o),
            lambda **o: torch.empty(50, device="musa").random_(**o),
            lambda **o: torch.empty(50, device="musa").exponential_(**o),
            lambda **o: torch.multinomial(torch.ones(50, device="musa"), 20, **o),
            lambda **o: torch.bernoulli(torch.full((50,), 0.5, device="musa"), **o),
        ],
    )
    def test_seeds_repeat_and_calls_differ(self, draw: Any) -> None:
        torch.manual_seed(7)
        first, second = draw(), draw()
        torch.manual_seed(7)
        assert torch.equal(draw(), first) and not torch.equal(first, second)
        generator = torch.Generator("musa").manual_seed(7)
        mine = draw(generator=generator)
        assert torch.equal(draw(generator=generator.manual_seed(7)), mine)

    def test_dropout_repeats(self) -> None:
        ones = torch.ones(100, device="musa")
        torch.manual_seed(3)
        first, second = torch.dropout(ones, 0.5, True), torch.dropout(ones, 0.5, True)
        torch.manual_seed(3)
        assert torch.equal(torch.dropout(ones, 0.5, True), first) and not torch.equal(first, second)

    def test_state(self) -> None:
        generator = torch.Generator("musa:1")
        assert generator.device == torch.device("musa", 1)
        state = generator.manual_seed(5).get_state()
        assert state.dtype is torch.uint8 and state.numel() == 16
        first = torch.rand(4, device="musa:1", generator=generator)
        generator.set_state(state)
        assert torch.equal(torch.rand(4, device="musa:1", generator=generator), first)
        with pytest.raises(RuntimeError, match="RNG state is wrong size"):
            generator.set_state(torch.Generator().get_state())

    def test_devices_have_generators_of_their_own(self, torch_musa: Any) -> None:
        torch.manual_seed(1)
        expected = torch.rand(3, device="musa:1")
        torch.manual_seed(1)
        torch.rand(3, device="musa:0")
        assert torch.equal(torch.rand(3, device="musa:1"), expected)


class TestStreamsAndEvents:
    def test_time_passes_on_a_stream_only(self, torch_musa: Any, core: Any) -> None:
        stream, begin, end = (
            torch_musa.Stream(),
            torch_musa.Event(enable_timing=True),
            torch_musa.Event(enable_timing=True),
        )
        with torch_musa.stream(stream):
            begin.record()
            core._musa_sleep(40_000_000)
            end.record()
        assert not stream.query() and not end.query() and torch_musa.default_stream().query()
        end.synchronize()
        assert stream.query() and begin.elapsed_time(end) > 39

    def test_a_stream_waits_for_another(self, torch_musa: Any, core: Any) -> None:
        first, second = torch_musa.Stream(), torch_musa.Stream()
        with torch_musa.stream(first):
            core._musa_sleep(30_000_000)
        second.wait_stream(first)
        assert not second.query()
        second.synchronize()
        assert first.query()

    def test_copying_to_the_host_waits(self, torch_musa: Any, core: Any) -> None:
        with torch_musa.stream(stream := torch_musa.Stream()):
            ones = torch.ones(1, device="musa")
            core._musa_sleep(30_000_000)
            assert not stream.query()
            ones.item()
            assert stream.query()

    def test_the_current_stream_belongs_to_thread_and_device(self, torch_musa: Any) -> None:
        stream = torch_musa.Stream()
        seen: list[Any] = []
        with torch_musa.stream(stream):
            thread = threading.Thread(target=lambda: seen.append(torch_musa.current_stream()))
            thread.start()
            thread.join()
            assert torch_musa.current_stream() == stream
            assert torch_musa.current_stream(1) == torch_musa.default_stream(1)
        assert seen == [torch_musa.default_stream()]

    def test_the_pool_has_32_streams(self, core: Any) -> None:
        handles = {core._MusaStreamBase().musa_stream for _ in range(40)}
        assert len(handles) == 32 and 0 not in handles
        urgent = core._MusaStreamBase(priority=-1)
        assert urgent.priority == -1 and urgent.musa_stream not in handles

    def test_streams_and_events_are_torchs_types(self, core: Any) -> None:
        assert issubclass(core._MusaStreamBase, torch.Stream) and issubclass(core._MusaEventBase, torch.Event)
        stream = core._MusaStreamBase()
        assert stream == core._MusaStreamBase(
            stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
        )
        assert stream != core._MusaStreamBase() and hash(stream) != 0
        torch.Stream("musa").wait_stream(stream)

    def test_external_streams(self, core: Any) -> None:
        import ctypes

        handle = ctypes.c_void_p()
        core._musart.musaStreamCreate(ctypes.addressof(handle))
        stream = core._MusaStreamBase(stream_ptr=handle.value)
        assert stream.musa_stream == handle.value and stream.query()

    def test_event_misuse(self, torch_musa: Any) -> None:
        fresh = torch_musa.Event(enable_timing=True)
        assert fresh.query() and fresh.device is None and fresh.musa_event == 0
        with pytest.raises(RuntimeError, match="must be recorded"):
            fresh.elapsed_time(fresh)
        plain = torch_musa.Event()
        plain.record()
        fresh.record()
        with pytest.raises(RuntimeError, match="invalid resource handle"):
            plain.elapsed_time(fresh)


class TestPinnedMemory:
    def test_pinned_tensors_are_recognised(self) -> None:
        host = torch.arange(10.0)
        assert not host.is_pinned()
        pinned = host.pin_memory()
        assert pinned.is_pinned() and pinned[3:].is_pinned() and not host.is_pinned()
        assert pinned.to("musa", non_blocking=True).tolist() == host.tolist()
        assert torch.empty(3, pin_memory=True).is_pinned()

    def test_registering_pages(self, core: Any) -> None:
        host = torch.zeros(4096)
        assert core._musart.musaHostRegister(host.data_ptr(), 4096 * 4, 0) == core._musart.musaError.success
        assert host.is_pinned()
        core._musart.musaHostUnregister(host.data_ptr())
        assert not host.is_pinned()

    def test_registering_pages_after_a_copy_between_devices(self) -> None:
        """PyTorch takes no memory for pinned before something has initialised the device in its eyes, as such a copy does."""
        fresh_process.run(
            """
            import torch, torch_musa
            torch.ones(2, device="musa:0").to("musa:1")
            host = torch.zeros(4096)
            assert not host.is_pinned()
            assert torch.musa.musart().musaHostRegister(host.data_ptr(), host.nbytes, 0) == 0
            assert host.is_pinned()
            """
        )


class TestAutocast:
    def test_autocast_casts_the_listed_operators(self) -> None:
        a = torch.ones(4, 4, device="musa")
        with torch.autocast("musa", dtype=torch.bfloat16):
            assert (a @ a).dtype is torch.bfloat16
            assert torch.nn.functional.conv2d(a[None, None], a[None, None]).dtype is torch.bfloat16
            assert (a @ a).exp().dtype is torch.float32
            assert (torch.ones(4, 4) @ torch.ones(4, 4)).dtype is torch.float32

    def test_binary_cross_entropy_is_banned(self) -> None:
        half = torch.full((2,), 0.5, device="musa")
        with torch.autocast("musa", dtype=torch.float16), pytest.raises(RuntimeError, match="unsafe to autocast"):
            torch.nn.functional.binary_cross_entropy(half, half)


class TestDeviceOnlyOperators:
    """PyTorch calls these on a GPU and not on the CPU, so the operator database does not cover them."""

    @pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
    def test_recurrent_networks(self, kind: Any) -> None:
        torch.manual_seed(0)
        host = kind(4, 5, num_layers=2, bidirectional=True)
        device = kind(4, 5, num_layers=2, bidirectional=True).to("musa")
        device.load_state_dict(host.state_dict())
        given = torch.randn(6, 3, 4)
        for module, where in ((host, "cpu"), (device, "musa")):
            out, _ = module(given.to(where))
            (out * out).sum().backward()
        for one, other in zip(host.parameters(), device.parameters()):
            torch.testing.assert_close(other.grad.cpu(), one.grad)

    @pytest.mark.parametrize("cell", [torch.nn.LSTMCell, torch.nn.GRUCell])
    def test_cells_without_bias(self, cell: Any) -> None:
        host = cell(3, 2, bias=False)
        device = cell(3, 2, bias=False).to("musa")
        device.load_state_dict(host.state_dict())
        given = torch.randn(4, 3)
        one, other = host(given), device(given.to("musa"))
        one, other = (one[0], other[0]) if isinstance(one, tuple) else (one, other)
        torch.testing.assert_close(other.cpu(), one)

    def test_synchronised_batch_norm(self) -> None:
        given = torch.randn(8, 3, 5, 5, dtype=torch.float64)
        on_device = given.to("musa")
        mean, invstd = torch.batch_norm_stats(on_device, 1e-5)
        counts = torch.full((2,), 100.0, device="musa", dtype=torch.float64)
        halves = [torch.batch_norm_stats(part, 1e-5) for part in on_device.chunk(2)]
        joint = torch.batch_norm_gather_stats_with_counts(
            on_device,
            torch.stack([h[0] for h in halves]),
            torch.stack([h[1] for h in halves]),
            None,
            None,
            0.1,
            1e-5,
            counts,
        )
        torch.testing.assert_close(joint[0], mean)
        torch.testing.assert_close(joint[1], invstd)
        weight, bias = torch.rand(3, dtype=torch.float64), torch.rand(3, dtype=torch.float64)
        expected_input = given.clone().requires_grad_()
        expected = torch.nn.functional.batch_norm(expected_input, None, None, weight, bias, training=True)
        actual = torch.batch_norm_elemt(on_device, weight.to("musa"), bias.to("musa"), mean, invstd, 1e-5)
        torch.testing.assert_close(actual.cpu(), expected.detach())
        grad = torch.randn_like(given)
        expected.backward(grad)
        sums = torch.batch_norm_backward_reduce(
            grad.to("musa"), on_device, mean, invstd, weight.to("musa"), True, True, True
        )
        grad_input = torch.batch_norm_backward_elemt(
            grad.to("musa"),
            on_device,
            mean,
            invstd,
            weight.to("musa"),
            sums[0],
            sums[1],
            torch.tensor([200], device="musa"),
        )
        torch.testing.assert_close(grad_input.cpu(), expected_input.grad)


class TestOtherLayouts:
    def test_sparse_tensors(self) -> None:
        a = torch.eye(3).to_sparse().to("musa")
        a.add_(a)
        assert a.is_sparse and a.to_dense().cpu().diag().tolist() == [2, 2, 2]
        assert (a @ torch.ones(3, 2, device="musa")).sum().item() == 12

    @pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
    def test_quantized_tensors(self) -> None:
        a = torch.quantize_per_tensor(torch.tensor([0.5, 1.0], device="musa"), 0.5, 0, torch.qint8)
        assert a.device.type == "musa" and a.is_quantized
        assert a[1:].dequantize().tolist() == [1.0] and a.int_repr().tolist() == [1, 2]


class TestBetweenDevices:
    def test_copies(self) -> None:
        a = torch.arange(6.0, device="musa:1").reshape(2, 3)
        assert torch.equal(a.t().to("musa:0").cpu(), a.cpu().t()) and a.t().to("musa:0").device.index == 0

    def test_functions_for_data_parallel_copy_between_devices(self, core: Any) -> None:
        rows = torch.arange(6.0, device="musa").reshape(3, 2)
        parts = core._scatter(rows, [0, 1], [1, 2], 0, None)
        assert [(p.device.index, len(p)) for p in parts] == [(0, 1), (1, 2)]
        assert torch.equal(core._gather(parts, 0, -1), rows.cpu()) and core._gather(parts, 0, 1).device.index == 1
        copies = core._broadcast_coalesced([rows, rows + 1], [0, 1], 1024)
        assert [[t.device.index for t in part] for part in copies] == [[0, 0], [1, 1]]


def test_every_exported_name_is_documented(core: Any) -> None:
    import musasim

    text = (Path(musasim.__file__).parent / "torch_musa" / "native" / "README.md").read_text(encoding="utf-8")
    # An adapter may have added its own functions, in Python.
    added = {name for name, value in vars(core).items() if isinstance(value, FunctionType)}
    names = {name for name in dir(core) if not name.startswith("__")} - added
    assert {name for name in names if f"`{name}" not in text and f"{name}(" not in text} == set()


def test_a_sparse_tensor_moves_to_a_device_that_is_not_current() -> None:
    sparse = torch.eye(3).to_sparse()
    assert torch.musa.current_device() == 0
    moved = sparse.to("musa:1")
    assert moved.device == torch.device("musa", 1) and moved.to_dense().tolist() == torch.eye(3).tolist()
    assert moved.to("musa:0").to("musa:1")._values().device == torch.device("musa", 1)
