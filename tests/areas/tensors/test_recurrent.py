"""RNN, LSTM, GRU and packed sequences on the device."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence

X = torch.linspace(-1, 1, 2 * 5 * 6).reshape(2, 5, 6)
LAYERS = pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU])


def packed() -> PackedSequence:
    return pack_padded_sequence(X, [5, 3], batch_first=True)


@LAYERS
@pytest.mark.parametrize("bidirectional", [False, True])
def test_as_on_the_cpu(layer: Any, bidirectional: bool) -> None:
    torch.manual_seed(0)
    model = layer(6, 4, num_layers=2, bidirectional=bidirectional, batch_first=True)
    wanted, _ = model(X)
    wanted.square().sum().backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    result, _ = model.cuda()(X.cuda())
    result.square().sum().backward()
    assert result.is_cuda
    torch.testing.assert_close(result.cpu(), wanted)
    torch.testing.assert_close([parameter.grad.cpu() for parameter in model.parameters()], gradients)


@LAYERS
def test_packed(layer: Any) -> None:
    model = layer(6, 4, batch_first=True)
    wanted, lengths = pad_packed_sequence(model(packed())[0], batch_first=True)
    result, _ = model.cuda()(packed().cuda())
    assert isinstance(result, PackedSequence) and result.is_cuda
    padded, its_lengths = pad_packed_sequence(result, batch_first=True)
    torch.testing.assert_close(padded.cpu(), wanted)
    assert its_lengths.equal(lengths)


@LAYERS
def test_flatten_parameters(layer: Any) -> None:
    model = layer(6, 4).cuda()
    model.flatten_parameters()
    with torch.backends.cudnn.flags(enabled=False):
        model.flatten_parameters()
    assert model(X.cuda())[0].is_cuda
    assert type(model)(6, 4).cuda().load_state_dict(model.state_dict()).missing_keys == []


@LAYERS
def test_half_and_autocast(layer: Any) -> None:
    model = layer(6, 4).cuda()
    with torch.autocast("cuda", torch.float16):
        assert model(X.cuda())[0].dtype is torch.float16
    assert model.half()(X.cuda().half())[0].dtype is torch.float16


def test_dropout_between_layers() -> None:
    model = nn.LSTM(6, 4, num_layers=2, dropout=0.5).cuda()
    torch.cuda.manual_seed(1)
    first = model(X.cuda())[0]
    torch.cuda.manual_seed(1)
    assert model(X.cuda())[0].equal(first) and not model(X.cuda())[0].equal(first)


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.LSTMCell, nn.GRUCell])
def test_cells(cell: Any) -> None:
    layer = cell(6, 4)

    def first(result: Any) -> torch.Tensor:
        state: torch.Tensor = result[0] if isinstance(result, tuple) else result
        return state

    wanted = first(layer(X[0]))
    torch.testing.assert_close(first(layer.cuda()(X[0].cuda())).cpu(), wanted)


def test_packed_sequences_move() -> None:
    sequence = packed()
    assert not sequence.is_cuda
    for moved in (sequence.cuda(), sequence.to("cuda"), sequence.to(device="cuda"), sequence.to(torch.device("cuda"))):
        assert moved.is_cuda and moved.data.is_cuda and moved.batch_sizes.device.type == "cpu"
    assert sequence.cuda(1).data.device == sequence.to("cuda:1").data.device == torch.device("cuda:1")
    assert not sequence.cuda().cpu().is_cuda
    half = sequence.to("cuda", torch.float16)
    assert half.is_cuda and half.data.dtype is torch.float16


def test_lengths_stay_on_the_cpu() -> None:
    with pytest.raises(RuntimeError, match="CPU"):
        pack_padded_sequence(X.cuda(), torch.tensor([5, 3], device="cuda"), batch_first=True)
    sequence = pack_padded_sequence(X.cuda(), torch.tensor([3, 5]), batch_first=True, enforce_sorted=False)
    assert sequence.sorted_indices is not None and sequence.sorted_indices.is_cuda
    padded, lengths = pad_packed_sequence(sequence, batch_first=True)
    assert lengths.tolist() == [3, 5] and padded.is_cuda
    assert pad_sequence([X[0].cuda(), X[1, :2].cuda()]).is_cuda
