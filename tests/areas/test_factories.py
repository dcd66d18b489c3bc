"""Every factory of the installed torch, discovered from torch itself, makes device tensors of what CUDA code says."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._device import _device_constructors

# How to call what cannot be called with a size alone.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "tensor": ([1.0, 2.0],),
    "as_tensor": ([1.0, 2.0],),
    "asarray": ([1.0, 2.0],),
    "scalar_tensor": (3.0,),
    "full": ((2,), 7.0),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "randint": (0, 5, (3,)),
    "range": (0, 3),
    "tril_indices": (3, 3),
    "triu_indices": (3, 3),
    "empty_strided": ((2, 2), (2, 1)),
    "empty_permuted": ((2, 3), (0, 1)),
    "normal": (0.0, 1.0, (3,)),
    "nested_tensor": ([torch.zeros(2)],),
    "sparse_coo_tensor": ([[0, 1]], [1.0, 2.0], (2,)),
    "sparse_csr_tensor": ([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "sparse_csc_tensor": ([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "sparse_bsr_tensor": ([0, 1], [0], [[[1.0]]], (1, 1)),
    "sparse_bsc_tensor": ([0, 1], [0], [[[1.0]]], (1, 1)),
    "sparse_compressed_tensor": ([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)),
}
KEYWORDS: dict[str, dict[str, Any]] = {
    "sparse_compressed_tensor": {"layout": torch.sparse_csr},
}
NOT_CALLED = {
    "empty_quantized": "takes a quantized tensor, which no kernel of the simulator makes",
    "fill": "takes a tensor and no device, but torch 2.7.1 lists it all the same",
    "vander": "takes a tensor and no device, but torch 2.7.1 lists it all the same",
}


def _names() -> list[str]:
    found = {function.__name__ for function in _device_constructors()}
    return sorted(name for name in found | {"normal"} if name not in NOT_CALLED)


def _call(name: str, device: Any) -> torch.Tensor:
    owner = torch.fft if name.startswith("fft_") else torch.nested if name == "nested_tensor" else torch
    function = getattr(owner, name.replace("fft_", ""))
    result: torch.Tensor = function(*ARGUMENTS.get(name, (4,)), device=device, **KEYWORDS.get(name, {}))
    return result


@pytest.mark.filterwarnings("ignore:torch.range is deprecated", "ignore:Sparse", "ignore:The PyTorch API of nested")
@pytest.mark.parametrize("name", _names())
@pytest.mark.parametrize("device", ["cuda", "cuda:1", 1, torch.device("cuda", 1)], ids=str)
def test_every_constructor(name: str, device: Any) -> None:
    made = _call(name, device)
    assert made.device.type == "musa"
    assert made.device.index == (0 if device == "cuda" else 1)


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like", "rand_like", "randn_like"])
def test_like(name: str) -> None:
    x = torch.zeros(3)
    assert getattr(torch, name)(x, device="cuda").is_cuda
    assert getattr(torch, name)(x.cuda()).is_cuda
    assert getattr(torch, name)(x.cuda(), device="cpu").device.type == "cpu"
    assert not getattr(torch, name)(x).is_cuda


def test_like_keeps_its_input_device_inside_a_device_context() -> None:
    x = torch.zeros(3, device="cuda:1")
    with torch.device("cpu"):
        assert torch.zeros_like(x).device == torch.device("cuda:1")


def test_full_like_and_randint_like() -> None:
    assert torch.full_like(torch.zeros(2), 3, device="cuda").tolist() == [3, 3]
    assert torch.randint_like(torch.zeros(2), 5, device="cuda").is_cuda


def test_windows_and_fft() -> None:
    assert torch.hann_window(8, device="cuda").is_cuda
    assert torch.signal.windows.cosine(8, device="cuda").is_cuda
    assert torch.fft.rfftfreq(8, device="cuda").is_cuda


def test_from_numpy_and_back() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = torch.from_numpy(array).cuda()
    assert x.is_cuda
    assert np.array_equal(x.cpu().numpy(), array)
    with pytest.raises(TypeError):
        x.numpy()


def test_omitted_and_explicit_other_devices_are_respected() -> None:
    assert torch.zeros(2).device.type == "cpu"
    assert torch.zeros(2, device=None).device.type == "cpu"
    assert torch.zeros(2, device="meta").device.type == "meta"


@pytest.mark.parametrize("device", ["cuda:x", "nonsense", [], 1.5])
def test_bad_devices_are_torchs_own_errors(device: Any) -> None:
    with pytest.raises((RuntimeError, TypeError)):
        torch.zeros(2, device=device)


def test_index_out_of_range() -> None:
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(2, device="cuda:99")


def test_functions_pickle_by_reference_and_keep_their_names() -> None:
    assert pickle.loads(pickle.dumps(torch.zeros)) is torch.zeros
    assert torch.zeros.__name__ == "zeros"
    assert torch.zeros.__module__ == "torch"
    assert torch.zeros is torch._C._VariableFunctions.zeros


def test_torch_function_modes_are_handed_the_public_function() -> None:
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        torch.zeros(2, device="cuda")
    assert torch.zeros in seen


def test_layers_and_embeddings_take_device() -> None:
    for layer in (
        torch.nn.Linear(2, 2, device="cuda"),
        torch.nn.Embedding(3, 2, device="cuda"),
        torch.nn.LSTM(2, 2, device="cuda:1"),
    ):
        assert all(parameter.is_cuda for parameter in layer.parameters())
