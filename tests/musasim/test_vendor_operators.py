"""Operators that work on torch_musa and not on the CPU: their results, against other ways to compute them."""

# ruff: noqa: E402

from __future__ import annotations

import pytest

import musasim

musasim.install()

import torch
import torch_musa  # noqa: F401

from support.fresh_process import run
from support.own_kernels import own_kernel

pytestmark = pytest.mark.once


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float32])
def test_histograms_of_whole_numbers(dtype: torch.dtype) -> None:
    values = torch.tensor([0, 1, 1, 5, 9, 9, 9], dtype=dtype)
    counts = torch.histc(values.to("musa"), bins=10, min=0, max=9)
    assert counts.dtype == dtype and counts.tolist() == [1, 2, 0, 0, 0, 1, 0, 0, 0, 3]
    out = torch.empty(0, dtype=dtype, device="musa")
    assert torch.histc(values.to("musa"), bins=2, out=out) is out and out.tolist() == [3, 4]


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.filterwarnings("ignore:.*quantized tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor:UserWarning")
def test_copies_of_quantized_tensors_keep_values_and_scales(per_channel: bool) -> None:
    values = torch.randn(3, 4)
    if per_channel:
        made = torch.quantize_per_channel(values, torch.rand(3) + 0.1, torch.tensor([0, 1, 2]), 0, torch.qint8)
    else:
        made = torch.quantize_per_tensor(values, 0.1, 3, torch.quint8)
    there = made.to("musa")
    back = there.cpu()
    assert there.device.type == "musa" and there.qscheme() == made.qscheme() == back.qscheme()
    assert torch.equal(back.int_repr(), made.int_repr()) and torch.equal(back.dequantize(), made.dequantize())
    again = torch.empty_like(there).copy_(there)
    assert torch.equal(again.dequantize().cpu(), made.dequantize())


RMS_NORM = """
import torch, torch_musa
x, grad = (torch.randn(2, 3, 4, 5, dtype=torch.float64) for _ in range(2))
for weight in (None, torch.randn(4, 5, dtype=torch.float64)):
    leaves = [tensor.clone().requires_grad_() for tensor in (x, weight) if tensor is not None]
    expected = torch.nn.functional.rms_norm(leaves[0], (4, 5), None if weight is None else leaves[1], 1e-6)
    wanted = torch.autograd.grad(expected, leaves, grad)
    there = [None if tensor is None else tensor.to("musa") for tensor in (x, weight, grad)]
    out, factors = torch.ops.aten._fused_rmsnorm_forward(there[0], [4, 5], 1e-6, there[1])
    gradients = torch.ops.aten._fused_rmsnorm_backward(there[2], factors, there[0], [4, 5], 1e-6, there[1])
    torch.testing.assert_close(out.cpu(), expected.detach())
    assert factors.shape == (2, 3)
    for gradient, reference in zip(gradients, wanted):
        torch.testing.assert_close(gradient.cpu(), reference)
"""


def test_fused_rms_norm_and_its_backward() -> None:
    """Operators of the vendor's own up to 2.7.1."""
    run(RMS_NORM, MUSASIM_RELEASE="2.7.1", forked=True)


def _pick(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return x[i]


def _put(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    x[i] = -1.0
    return x


@pytest.mark.filterwarnings("ignore:.*jit.script.* is deprecated")
def test_torchscript_indexes_by_tensors_of_the_device() -> None:
    """TorchScript knows more of a list's elements than their type, from its second run on."""
    pick, put = torch.jit.script(_pick), torch.jit.script(_put)
    x, index = torch.arange(6.0, device="musa").reshape(3, 2), torch.tensor([2, 0], device="musa")
    for _ in range(3):
        assert pick(x, index).tolist() == [[4, 5], [0, 1]]
        assert put(x.clone(), index).tolist() == [[-1, -1], [2, 3], [-1, -1]]


def test_scatter_and_gather_check_their_arguments() -> None:
    from torch_musa import _MUSAC

    x = torch.arange(4.0, device="musa")
    with pytest.raises(RuntimeError, match="same length, but got len\\(devices\\) = 3 and len\\(chunk_sizes\\) = 2"):
        _MUSAC._scatter(x, [0, 0, 0], [2, 2])
    with pytest.raises(RuntimeError, match="Expected at least one device to scatter to"):
        _MUSAC._scatter(x, [])
    with pytest.raises(RuntimeError, match="Expected all input tensors to be MUSA tensors, but tensor at index 1"):
        _MUSAC._gather([x, x.cpu()], 0, 0)
    with pytest.raises(RuntimeError, match="same number of dimensions, but tensor at index 1"):
        _MUSAC._gather([x, x.reshape(2, 2)], 0, 0)
    with pytest.raises(RuntimeError, match="Input tensor at index 1 has invalid shape"):
        _MUSAC._gather([x.reshape(2, 2), x.reshape(1, 4)], 0, 0)


@pytest.mark.full
def test_a_host_tensor_is_scattered_over_devices() -> None:
    run("""
    import torch, torch_musa
    x = torch.arange(12.0).reshape(4, 3)
    for devices in ([0], [0, 1]):
        there = [torch.device("musa", index) for index in devices]
        parts = torch.nn.parallel.scatter(x, there)
        assert [part.device for part in parts] == there
        assert torch.equal(torch.cat([part.cpu() for part in parts]), x)
        model = torch.nn.DataParallel(torch.nn.Linear(3, 2).to("musa"), device_ids=devices)
        torch.testing.assert_close(model(x), model.module(x.to("musa")))
    """)


def test_scatter_gather_and_broadcast_into_given_tensors() -> None:
    from torch_musa import _MUSAC

    x = torch.arange(4.0, device="musa:0")
    parts = [torch.empty(1, device="musa:0"), torch.empty(3, device="musa:1")]
    _MUSAC._scatter_out(x, parts, 0)
    assert [part.tolist() for part in parts] == [[0], [1, 2, 3]]
    whole = torch.empty(4, device="musa:1")
    assert _MUSAC._gather_out(parts, whole, 0).tolist() == [0, 1, 2, 3]
    copies = [torch.empty(4, device="musa:0"), torch.empty(4, device="musa:1")]
    assert [each.tolist() for each in _MUSAC._broadcast_out(x, copies)] == [[0, 1, 2, 3]] * 2
    with pytest.raises(RuntimeError, match="does not match"):
        _MUSAC._scatter_out(x, parts[:1], 0)


@pytest.mark.parametrize("lengths_are_tensors", [False, True])
def test_ctc_loss_of_halves(lengths_are_tensors: bool) -> None:
    scores, targets = torch.randn(6, 2, 5).log_softmax(2), torch.tensor([[1, 2], [3, 4]])
    lengths = [torch.tensor([6, 5]), torch.tensor([2, 1])]
    expected = torch.nn.functional.ctc_loss(scores, targets, *lengths, reduction="none")
    told = [each.to("musa") if lengths_are_tensors else each.tolist() for each in lengths]
    there = scores.to("musa", torch.float16), targets.to("musa")
    found = torch.nn.functional.ctc_loss(*there, *told, reduction="none")
    assert found.dtype == torch.float16
    torch.testing.assert_close(found.cpu().float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("out_dtype", [torch.bfloat16, torch.float32, None])
def test_products_of_eight_bit_floats(dtype: torch.dtype, out_dtype: torch.dtype | None, rows: bool) -> None:
    left, right = torch.randn(3, 16).to(dtype), torch.randn(4, 16).to(dtype).t()
    scales = (torch.rand(3, 1) + 0.5, torch.rand(1, 4) + 0.5) if rows else (torch.tensor(0.5), torch.tensor(2.0))
    bias, divisor = (
        torch.randn(4, dtype=torch.float32 if out_dtype == torch.float32 else torch.bfloat16),
        torch.tensor(4.0),
    )
    expected = (left.float() * scales[0]) @ (right.float() * scales[1]) + bias.float()
    there = [each.to("musa") for each in (left, right, *scales)]
    divided = {"scale_result": divisor.to("musa")} if out_dtype is None else {}
    found = torch._scaled_mm(*there, bias=bias.to("musa"), out_dtype=out_dtype, **divided)
    assert found.dtype == (out_dtype or dtype)
    expected = (expected / divisor if divided else expected).to(found.dtype)
    tolerance = 0.3 if out_dtype is None else 1e-2
    torch.testing.assert_close(found.cpu().float(), expected.float(), rtol=tolerance, atol=tolerance)


def test_what_products_of_eight_bit_floats_refuse() -> None:
    left, right = (torch.ones(2, 4, device="musa").to(torch.float8_e4m3fn) for _ in range(2))
    one, two = torch.ones((), device="musa"), torch.ones(2, device="musa")
    with pytest.raises(RuntimeError, match="2x4 and 2x4"):
        torch.ops.aten._scaled_mm(left, right, one, one)
    with pytest.raises(RuntimeError, match="scale_b must be float scalar or float tensor of shape 2 but got 4"):
        torch.ops.aten._scaled_mm(left, right.t(), one, torch.ones(4, device="musa"))
    with pytest.raises(RuntimeError, match="Expected mat1 to be Float8 matrix got Float"):
        torch.ops.aten._scaled_mm(left.float(), right.t(), one, one)
    with pytest.raises(RuntimeError, match="Wrong bias dtype: Float"):
        torch.ops.aten._scaled_mm(left, right.t(), one, one, two, None, torch.bfloat16)


def test_convolutions_of_several_devices_are_refused_in_torch_musas_words() -> None:
    x, weight = torch.ones(1, 2, 4, 4, device="musa", requires_grad=True), torch.ones(3, 2, 3, 3)
    with pytest.raises(RuntimeError, match="same MUSA device, but got weight on cpu and input on musa:0"):
        torch.nn.functional.conv2d(x, weight)
    with pytest.raises(RuntimeError, match="same MUSA device, but got weight on musa:1 and input on musa:0"):
        torch.nn.functional.conv2d(x, weight.to("musa:1"))
    grad = torch.ones(1, 3, 2, 2, device="musa:1")
    arguments = ([0], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    with pytest.raises(RuntimeError, match="got weight on musa:0 input on musa:0 and grad_output on musa:1"):
        torch.ops.aten.convolution_backward(grad, x.detach(), weight.to("musa"), *arguments)


@pytest.mark.parametrize("dtype", [torch.double, torch.int32, torch.complex64], ids=str)
def test_convolutions_of_types_that_mudnn_lacks_are_refused_in_torch_musas_words(dtype: torch.dtype) -> None:
    x, weight = torch.ones(1, 2, 4, 4, device="musa").to(dtype), torch.ones(3, 2, 3, 3, device="musa").to(dtype)
    arguments = (None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    with pytest.raises(RuntimeError, match="Convolution only support Float32 and Half/BFloat16, but now it is"):
        own_kernel(torch.ops.aten.convolution_overrideable.default, x, weight, *arguments)
    with pytest.raises(RuntimeError, match="Convolution Backward only support Float32 and Float16/Bfloat16, but now"):
        own_kernel(
            torch.ops.aten.convolution_backward_overrideable.default,
            x[:, :, :2, :2],
            x,
            weight,
            *arguments[1:],
            [True] * 3,
        )


def test_convolutions_of_two_types_are_refused_in_torch_musas_words() -> None:
    x, weight = torch.ones(1, 2, 4, 4, device="musa").half(), torch.ones(3, 2, 3, 3, device="musa")
    with pytest.raises(RuntimeError, match="input dtype and weight dtype must be the same in Convolution"):
        torch.nn.functional.conv2d(x, weight)
    arguments = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True] * 3)
    with pytest.raises(RuntimeError, match="must be the same in ConvolutionBwd"):
        torch.ops.aten.convolution_backward_overrideable(x, x, weight, *arguments)


def test_time_between_events_of_two_devices_is_not_defined() -> None:
    events = [torch.musa.Event(enable_timing=True) for _ in range(2)]
    for index, event in enumerate(events):
        with torch.musa.device(index):
            event.record(torch.musa.current_stream())
    torch.musa.synchronize()
    with pytest.raises(RuntimeError, match="invalid resource handle"):
        events[0].elapsed_time(events[1])


@pytest.mark.parametrize("device", [0, "musa:0", torch.device("musa", 0)], ids=str)
def test_an_event_of_another_process_is_opened_on_any_name_of_a_device(device: object) -> None:
    event = torch.musa.Event(interprocess=True)
    event.record()
    assert torch.musa.Event.from_ipc_handle(device, event.ipc_handle()).query()


def test_pinned_memory_is_reused_but_not_before_a_copy_has_ended() -> None:
    first = torch.ones(1).pin_memory()
    address = first.data_ptr()
    del first
    second = torch.ones(1).pin_memory()
    assert second.data_ptr() == address
    torch.musa._sleep(2_000_000_000)  # the stream is busy, so the copy has not run on a device yet
    there = torch.empty(1, device="musa")
    there.copy_(second, non_blocking=True)
    del second
    assert torch.ones(1).pin_memory().data_ptr() != address
    torch.musa.synchronize()  # the next test in this process finds no busy stream


def attention(
    mask: torch.Tensor | None, where: str, *, batch: int = 3, queries: int = 4, keys: int = 5
) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(batch, 2, rows, 8, generator=generator) for rows in (queries, keys, keys))
    there = [each.to(where).requires_grad_() for each in (query, key, value)]
    out = torch.nn.functional.scaled_dot_product_attention(*there, None if mask is None else mask.to(where))
    out.square().sum().backward()
    return torch.cat([out.detach().flatten(), *(each.grad.flatten() for each in there if each.grad is not None)]).cpu()


@pytest.mark.parametrize("boolean", [False, True])
def test_attention_takes_a_mask_of_batch_and_keys(boolean: bool) -> None:
    keep = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1], [1, 1, 1, 1, 1]]).bool()
    mask = keep if boolean else torch.where(keep, 0.0, -3.0)
    torch.testing.assert_close(attention(mask, "musa"), attention(mask[:, None, None], "cpu"))
    with torch.no_grad():
        query = torch.ones(3, 2, 4, 8, device="musa")
        key = torch.ones(3, 2, 5, 8, device="musa")
        assert torch.nn.functional.scaled_dot_product_attention(query, key, key, mask.to("musa")).shape == (3, 2, 4, 8)


def test_attention_takes_a_square_mask_for_queries_and_keys() -> None:
    mask = torch.ones(3, 3).tril().bool()
    sizes = {"batch": 3, "queries": 3, "keys": 3}
    torch.testing.assert_close(attention(mask, "musa", **sizes), attention(mask, "cpu", **sizes))


@pytest.mark.parametrize("shape", [(1, 5), (4, 1), (3, 4)])
def test_attention_does_not_expand_a_mask_of_two_dimensions(shape: tuple[int, int]) -> None:
    with pytest.raises(RuntimeError, match=r"should be \[L, S\] or \[N, S\]"):
        attention(torch.ones(shape).bool(), "musa")
    with pytest.raises(RuntimeError, match="2/3/4D"):
        attention(torch.ones(5).bool(), "musa")
