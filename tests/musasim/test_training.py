"""Common tasks of programs: training, mixed precision, data loading, saving, copying."""

# ruff: noqa: E402

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
import textwrap

import pytest

import musasim

musasim.install()

import torch
import torch_musa  # noqa: F401
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from musasim.base import release
from support.plain_torch import plain_torch  # noqa: F401

pytestmark = pytest.mark.once


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3))


def batches(count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(8, 6, generator=generator), torch.randint(3, (8,), generator=generator)) for _ in range(count)]


@pytest.mark.parametrize("device", ["musa", "musa:1"])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_training_gives_what_the_cpu_gives(device: str, optimizer: type[torch.optim.Optimizer]) -> None:
    def train(where: str) -> list[torch.Tensor]:
        model = small_model().to(where)
        steps = optimizer(model.parameters(), lr=0.01)
        for features, labels in batches(5):
            steps.zero_grad()
            nn.functional.cross_entropy(model(features.to(where)), labels.to(where)).backward()
            steps.step()
        return [parameter.detach().cpu() for parameter in model.parameters()]

    torch.testing.assert_close(train(device), train("cpu"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_mixed_precision_with_a_scaler(dtype: torch.dtype) -> None:
    model = small_model().musa()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.musa.amp.GradScaler(init_scale=1024.0)
    losses = []
    features, labels = (each.musa() for each in batches(1)[0])
    for _ in range(10):
        optimizer.zero_grad()
        with torch.musa.amp.autocast(dtype=dtype):
            assert torch.is_autocast_enabled() and torch.get_autocast_dtype("musa") == dtype
            output = model[3](torch.relu(model[0](features)))
            assert output.dtype == dtype
            loss = nn.functional.cross_entropy(output.float(), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and scaler.get_scale() == 1024.0 and scaler.is_enabled()


def test_scaler_skips_a_step_with_infinite_gradients() -> None:
    parameter = nn.Parameter(torch.ones(2, device="musa"))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scaler = torch.musa.amp.GradScaler(init_scale=4.0)
    scaler.scale((parameter * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() == [1, 1] and scaler.get_scale() == 2.0
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 2.0


def test_autocast_refuses_other_types_and_leaves_double_and_integers() -> None:
    halves = [torch.float16, torch.bfloat16]
    expected = [torch.float16, torch.float32, torch.bfloat16] if release.since("2.11.0") else halves
    assert torch.musa.get_amp_supported_dtype() == expected
    with pytest.warns(UserWarning, match="musa autocast"):
        context = torch.autocast("musa", dtype=torch.float64)
    with context:
        assert torch.mm(*[torch.ones(2, 2, device="musa")] * 2).dtype == torch.float32
    with torch.musa.amp.autocast(enabled=False):
        assert not torch.is_autocast_enabled()

    @torch.musa.amp.autocast()
    def product(x: torch.Tensor) -> torch.Tensor:
        return x @ x

    assert product(torch.ones(2, 2, device="musa")).dtype == torch.float16


def test_custom_forward_and_backward() -> None:
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.musa.amp.custom_fwd(cast_inputs=torch.float32)
        def forward(ctx, one, other):
            ctx.save_for_backward(one, other)
            seen.append((one.dtype, torch.is_autocast_enabled()))
            return one @ other

        @staticmethod
        @torch.musa.amp.custom_bwd
        def backward(ctx, grad):
            one, other = ctx.saved_tensors
            seen.append((grad.dtype, torch.is_autocast_enabled()))
            return grad @ other.t(), one.t() @ grad

    x = torch.ones(2, 2, device="musa", dtype=torch.float16, requires_grad=True)
    with torch.musa.amp.autocast():
        Product.apply(x, x).sum().backward()
    assert seen == [(torch.float32, False), (torch.float32, False)] and x.grad.dtype == torch.float16


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loader_pins(workers: int) -> None:
    data = TensorDataset(torch.arange(8.0).view(4, 2), torch.arange(4))
    seen = 0
    for features, _labels in DataLoader(data, batch_size=2, pin_memory=True, num_workers=workers):
        assert features.is_pinned() and features.device.type == "cpu"
        assert features.to("musa", non_blocking=True).sum() > 0
        seen += 1
    assert seen == 2


def test_pinning_by_hand() -> None:
    tensor = torch.ones(3)
    assert not tensor.is_pinned()
    for pinned in (tensor.pin_memory(), tensor.pin_memory("musa"), torch.ones(3, pin_memory=True)):
        assert pinned.is_pinned() and pinned.is_pinned("musa") and pinned.tolist() == [1, 1, 1]


@pytest.mark.parametrize("cell", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers(cell: type[nn.RNNBase]) -> None:
    torch.manual_seed(0)
    on_cpu = cell(4, 5, num_layers=2, bidirectional=True)
    on_musa = copy.deepcopy(on_cpu).musa()
    steps = torch.randn(7, 3, 4)
    outputs = [on_cpu(steps)[0], on_musa(steps.musa())[0]]
    for output in outputs:
        output.square().sum().backward()
    torch.testing.assert_close(outputs[1].cpu(), outputs[0])
    for ours, theirs in zip(on_musa.parameters(), on_cpu.parameters()):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-4)
    packed = nn.utils.rnn.pack_padded_sequence(steps.musa(), torch.tensor([7, 5, 2]))
    assert on_musa(packed)[0].data.is_musa


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_repeats_the_dropout(reentrant: bool) -> None:
    x = torch.ones(1000, device="musa", requires_grad=True)
    result = checkpoint(nn.functional.dropout, x, 0.5, use_reentrant=reentrant)
    torch.rand(7, device="musa")
    result.sum().backward()
    torch.testing.assert_close(x.grad, result.detach())
    assert 300 < (x.grad == 0).sum() < 700


@pytest.mark.full
def test_checkpoint_in_a_fresh_process() -> None:
    """torch reads torch.musa._initialized here, which never changes in the real package."""
    from support.fresh_process import run

    run("""
        import torch, torch_musa
        from torch.utils.checkpoint import checkpoint
        x = torch.ones(1000, device="musa", requires_grad=True)
        result = checkpoint(torch.nn.functional.dropout, x, 0.5, use_reentrant=True)
        result.sum().backward()
        assert torch.equal(x.grad, result.detach())
    """)


# --- saving and copying ---------------------------------------------------------------------------------------------


def saved(value: object) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("weights_only", [True, False])
def test_save_and_load(weights_only: bool) -> None:
    model = small_model().to("musa:1")
    loaded = torch.load(saved(model.state_dict()), weights_only=weights_only)
    assert {value.device for value in loaded.values()} == {torch.device("musa:1")}
    torch.testing.assert_close(loaded, dict(model.state_dict()))
    elsewhere = torch.load(saved(model.state_dict()), map_location="musa:0", weights_only=weights_only)
    assert {value.device for value in elsewhere.values()} == {torch.device("musa:0")}
    assert not any(value.is_musa for value in torch.load(saved(model.state_dict()), map_location="cpu").values())
    from_cpu = torch.load(saved(torch.ones(2)), map_location=torch.device("musa", 1))
    assert from_cpu.device == torch.device("musa:1")


def renamed(value: object, old: bytes, new: bytes) -> io.BytesIO:
    """A saved file with another device name of the same length. The old format has no checksums."""
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=False)
    assert old in file.getvalue()
    return io.BytesIO(file.getvalue().replace(old, new))


def test_load_refuses_a_missing_device() -> None:
    file = renamed(torch.ones(2, device="musa:1"), b"musa:1", b"musa:9")
    with pytest.raises(RuntimeError, match=r"(?i)attempting to deserialize object on musa device 9"):
        torch.load(file, weights_only=False)


def test_load_refuses_cuda_and_advises() -> None:
    file = renamed(torch.ones(2, device="musa:1"), b"musa:1", b"cuda:1")
    with pytest.raises(RuntimeError, match=r"on a CUDA device but .* please use torch\.load with map_location"):
        torch.load(file, weights_only=False)
    file.seek(0)
    assert torch.load(file, map_location="musa", weights_only=False).is_musa


def test_registered_functions() -> None:
    """Stock torch's own handlers for such backends come first. These functions are for a torch without them."""
    from torch_musa.core import serialization

    assert [entry[0] for entry in torch.serialization._package_registry].count(999) == 1
    storage = torch.arange(3, dtype=torch.uint8).untyped_storage()
    assert serialization._musa_tag(storage) is None and serialization._musa_tag(storage.musa(1)) == "musa:1"
    assert serialization._musa_deserialize(storage, "musa:1").device == torch.device("musa:1")
    assert serialization._musa_deserialize(storage, "musa").is_musa
    assert serialization._musa_deserialize(storage, "cuda:0") is None
    with pytest.raises(RuntimeError, match="musatic"):  # torch_musa looks at the beginning only
        serialization._musa_deserialize(storage, "musatic")
    with pytest.raises(RuntimeError, match="MUSA device 7 but"):
        serialization._musa_deserialize(storage, "musa:7")


def test_modules_that_move_keep_their_parameters() -> None:
    """The vendor's torch counts the device among those whose tensors may take each other's data."""
    model = small_model()
    before, weight = list(model.parameters()), model[0].weight
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.to("musa")
    assert all(now is then for now, then in zip(model.parameters(), before)) and weight.is_musa
    model(torch.ones(1, weight.shape[1], device="musa")).sum().backward()
    optimizer.step()
    model.cpu()
    assert weight.device.type == "cpu" and next(model.parameters()) is weight
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        weight.data = torch.eye(2, device="musa").to_sparse()


def test_modules_that_move_on_pypis_torch() -> None:
    code = """
    import musasim; musasim.install(); import torch, torch_musa
    model = torch.nn.Linear(2, 2)
    weight = model.weight
    assert model.to("musa").weight is not weight and not weight.is_musa
    """
    env = {**os.environ, "MUSASIM_STOCK_TORCH": "1", "TORCHADA_DISABLE": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], check=True, env=env)


def test_deepcopy_and_pickle() -> None:
    model = small_model().musa()
    copied = copy.deepcopy(model)
    pickled = pickle.loads(pickle.dumps(model))
    for other in (copied, pickled):
        assert all(parameter.is_musa for parameter in other.parameters())
        torch.testing.assert_close(dict(other.state_dict()), dict(model.state_dict()))
    assert copied[0].weight.data_ptr() != model[0].weight.data_ptr()
    view = torch.arange(6, device="musa")[2:]
    assert pickle.loads(pickle.dumps(view)).tolist() == [2, 3, 4, 5]
    assert copy.deepcopy(view.untyped_storage()).device == view.device


def test_module_methods() -> None:
    model = small_model()
    assert model.musa() is model and model[0].weight.is_musa
    assert model.musa(1)[0].weight.device.index == 1 and model.cpu()[0].weight.device.type == "cpu"


def test_random_state() -> None:
    torch.musa.manual_seed_all(3)
    states = torch.musa.get_rng_state_all()
    first = torch.rand(4, device="musa:1")
    torch.musa.set_rng_state_all(states)
    assert torch.equal(torch.rand(4, device="musa:1"), first)
    assert len(states) == 2 and states[0].device.type == "cpu"
    for name in (1, "musa:1", torch.device("musa", 1)):
        torch.musa.set_rng_state(states[1], name)
        assert torch.equal(torch.musa.get_rng_state(name), states[1])
        assert torch.equal(torch.rand(4, device="musa:1"), first)


def test_seeding_the_device_leaves_the_cpu_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    torch.musa.manual_seed(5)
    torch.rand(10, device="musa")
    assert torch.equal(torch.rand(3), expected)
    torch.musa.seed()
    torch.musa.seed_all()
    assert torch.musa.initial_seed() == torch.musa.default_generators[1].initial_seed()


def test_fork_rng_covers_the_devices() -> None:
    torch.musa.manual_seed_all(0)
    with torch.random.fork_rng(devices=[0, 1]):
        inside = torch.rand(3, device="musa:1")
    assert torch.equal(torch.rand(3, device="musa:1"), inside)
    generator = torch.Generator(device="musa:1").manual_seed(4)
    assert generator.device == torch.device("musa:1")
    one = torch.rand(3, device="musa:1", generator=generator)
    assert torch.equal(one, torch.rand(3, device="musa:1", generator=generator.manual_seed(4)))
