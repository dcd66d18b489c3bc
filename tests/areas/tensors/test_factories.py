"""Every factory of the installed torch, discovered from torch itself, makes device tensors of what CUDA code says."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
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


def test_asarray_and_empty_permuted() -> None:
    x = torch.arange(3.0)
    for made in (torch.asarray(np.arange(3.0), device="cuda:1"), torch.asarray(x, device="cuda:1", copy=True)):
        assert made.device == torch.device("cuda:1") and made.tolist() == [0, 1, 2]
    made = torch.empty_permuted((2, 3), (1, 0), device="cuda:1")
    assert made.device == torch.device("cuda:1") and made.stride() == (1, 2)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_compressed_sparse_constructors(layout: str) -> None:
    make: Any = getattr(torch, f"sparse_{layout}_tensor")
    values = [[[1.0]], [[2.0]]] if layout.startswith("b") else [1.0, 2.0]
    made = make([0, 1, 2], [0, 1], values, (2, 2), device="cuda:1")
    assert made.device == made.values().device == torch.device("cuda:1")
    assert made.layout is getattr(torch, f"sparse_{layout}") and made.to_dense().tolist() == [[1, 0], [0, 2]]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensor(layout: torch.layout) -> None:
    parts = [torch.ones(2), torch.zeros(3)]
    for make in (torch.nested.nested_tensor, torch.nested.as_nested_tensor):
        made: Any = make(parts, device="cuda:1", layout=layout)
        assert made.is_nested and made.is_cuda and made.device == torch.device("cuda:1")
        assert [part.tolist() for part in (made + 1).unbind()] == [[2, 2], [1, 1, 1]]


WINDOWS = {"exponential": {"tau": 2.0}, "gaussian": {"std": 2.0}, "general_cosine": {"a": [0.5, 0.5]}}


@pytest.mark.parametrize("name", torch.signal.windows.__all__)
def test_signal_windows(name: str) -> None:
    make = getattr(torch.signal.windows, name)
    made = make(8, device="cuda:1", **WINDOWS.get(name, {}))
    assert made.device == torch.device("cuda:1")
    torch.testing.assert_close(made.cpu(), make(8, **WINDOWS.get(name, {})))


def test_fft_frequencies() -> None:
    for make in (torch.fft.fftfreq, torch.fft.rfftfreq):
        assert make(8, device="cuda:1").device == torch.device("cuda:1")
        assert make(8, device="cuda").tolist() == make(8).tolist()


def test_normal_and_from_file(tmp_path: Path) -> None:
    assert torch.normal(0.0, 1.0, (3,), device="cuda:1").device == torch.device("cuda:1")
    assert torch.normal(torch.zeros(3, device="cuda:1"), 1.0).device == torch.device("cuda:1")
    (tmp_path / "cuda.bin").write_bytes(bytes([1, 2, 3]))
    options: Any = {"size": 3, "dtype": torch.uint8}
    assert torch.from_file(str(tmp_path / "cuda.bin"), **options).cuda().tolist() == [1, 2, 3]
    assert torch.from_file(str(tmp_path / "cuda.bin"), **options, device="cuda").is_cuda


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


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.zeros(2, device="cuda:99"),
        lambda: torch.zeros(2).to("cuda:99"),
        lambda: torch.zeros(2).cuda(99),
        lambda: torch.nn.Linear(2, 2).cuda(99),
        lambda: torch.cuda.set_device(99),
        lambda: torch.cuda.device("cuda:99").__enter__(),
    ],
)
def test_index_out_of_range(use: Any) -> None:
    before = torch.cuda.current_device()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        use()
    assert torch.cuda.current_device() == before


def test_questions_about_an_index_out_of_range() -> None:
    for ask in (torch.cuda.get_device_properties, torch.cuda.get_device_name):
        with pytest.raises(AssertionError, match="Invalid device id"):
            ask(99)


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


# Arguments before `device`, where all of them being 2 is not right.
LAYERS: dict[str, tuple[Any, ...]] = {
    "AdaptiveLogSoftmaxWithLoss": (4, 4, [2]),
    "RNNBase": ("LSTM", 2, 2),
    "RNNCellBase": (2, 2, True, 4),
    "Transformer": (2, 2, 1, 1, 2),
}


def _layers() -> list[str]:
    classes = {name: value for name, value in vars(torch.nn).items() if inspect.isclass(value)}
    found = [name for name, value in classes.items() if "device" in inspect.signature(value.__init__).parameters]
    return sorted([*found, "RNN", "LSTM", "GRU"])


def _required(layer: type) -> int:
    parameters = list(inspect.signature(layer).parameters.values())
    return len([p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("name", _layers())
def test_every_layer_takes_device(name: str) -> None:
    layer = getattr(torch.nn, name)
    arguments = LAYERS.get(name, (2,) * (2 if name in ("RNN", "LSTM", "GRU") else _required(layer)))
    options = {"affine": True} if name.startswith("Instance") else {}
    made = layer(*arguments, device="cuda:1", **options)
    state = [*made.parameters(), *made.buffers()]
    assert state and {x.device for x in state} == {torch.device("cuda:1")}
