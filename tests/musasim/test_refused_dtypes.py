"""Data types that torch_musa 2.7.1's kernels refuse (csrc/aten/ops), in its words, and what its own kernels leave out."""

from __future__ import annotations

import json

import pytest

from musasim.base.release import RELEASES
from support.fresh_process import run

pytestmark = pytest.mark.once

CALLS = {
    "arange": ("torch.arange(3, dtype=x.dtype, device='musa')", "unsupported data type Double"),
    "int16": ("torch.arange(3, dtype=torch.int16, device='musa')", "unsupported data type Short"),
    "baddbmm": ("torch.baddbmm(x[None], x[None], x[None])", "BaaddBmm only supports fp16/fp32/bf16 dtype"),
    "batch_norm": ("F.batch_norm(x, None, None, training=True)", "BatchNorm supports Float/Half/BFloat16 input dtype"),
    "group_norm": ("F.group_norm(x, 2)", "group norm supports Float and Half/BFloat16 tensor type, now got Double"),
    "layer_norm": ("F.layer_norm(x, (2,))", "Dtype of input tensor of LayerNorm only support Float32, Half"),
    "dropout": ("F.dropout(x)", "Dtype of input tensor of NativeDropout only support Float, Half and BFloat16, but"),
    "softmax": ("F.softmax(x, 0).sum().backward()", "input_dtype of SoftmaxBwd only support Float/Half/BFloat16"),
    "norm": ("torch.ops.aten.norm.ScalarOpt_dim(x, 2, [0])", "Norm only supports Float/Half/BFloat16 input, but now"),
    "addcdiv": ("torch.addcdiv(x, x, x)", "Dtype of input tensor of addcdiv only support int32/64, fp32/fp16/bf16"),
    "avg_pool2d": ("F.avg_pool2d(x[None], 2).sum().backward()", "Dtype of grad_output tensor of AvgPool2dBackward"),
    "half": ("F.avg_pool2d(x[None].half(), 2).sum().backward()", "only support Float32, but now it is Half"),
    "bucketize": ("torch.bucketize(x, x[0])", "Bucketize supports dtypes of float32, int32 and int64, but now it is"),
    "histc": ("torch.histc(x)", "histc doesn't support half, double tenesor, now is Double"),
    "bincount": ("torch.bincount(i, x[0])", "expected scalar type Float but found Double"),
    "embedding_bag": ("F.embedding_bag(i[None], x)", "Unsupported output data type"),
    "relu": ("F.relu(x.to(torch.uint8))", "Now muDNN only support float64, float32, half, bfloat16, int32, and int64"),
    "round": ("x.to(torch.int16).round()", "Now muDNN only support float64, float32, half, bfloat16, int32, and int64"),
    "neg": ("-x.to(torch.int16)", "Now muDNN only support float64, float32, half, bfloat16, int32, and int64"),
    "conv1d": ("F.conv1d(x, x[:, :, None])", "Dtype of weight tensor of Convolution only support Float32"),
}
PROGRAM = """
import json
import musasim
musasim.install()
import torch, torch_musa, torch.nn.functional as F
x = torch.rand(2, 2, dtype=torch.float64, device="musa", requires_grad=True)
i, found = torch.tensor([0, 1], device="musa"), {}
for name, (call, _) in CALLS.items():
    try:
        found[name] = str(eval(call))
    except RuntimeError as error:
        found[name] = str(error)
print(json.dumps(found))
"""


def test_doubles() -> None:
    found = json.loads(run(f"CALLS = {CALLS}\n{PROGRAM}", forked=True))
    assert {name: CALLS[name][1] in error for name, error in found.items()} == dict.fromkeys(CALLS, True), found


def test_bags_with_gradients_have_no_weights_and_no_places_of_maxima() -> None:
    code = """
    import musasim
    musasim.install()
    import torch, torch_musa, torch.nn.functional as F
    table = torch.tensor([[1.0], [4.0]], device="musa", requires_grad=True)
    bag, weights = torch.tensor([[0, 1]], device="musa"), torch.tensor([[2.0, 3.0]], device="musa")
    print(F.embedding_bag(bag, table, mode="sum", per_sample_weights=weights).item())
    F.embedding_bag(bag, table, mode="max").backward()
    print(table.grad.tolist(), F.embedding_bag(bag, table.detach(), mode="sum", per_sample_weights=weights).item())
    """
    assert run(code, forked=True) == "5.0\n[[1.0], [0.0]] 14.0\n"


# Complex numbers: what is refused, and from which release on it is not.
OF_COMPLEX = {
    "z.exp()": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", "2.11.0"),
    "z.sqrt_()": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", "2.11.0"),
    "F.silu(z)": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", "2.11.0"),
    "z.sum()": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", "2.11.0"),
    "z.real.cumsum(0, dtype=torch.complex128)": ("SetMUTensorDType Unsupported tensor dtype: ComplexDouble", "2.11.0"),
    "z[i]": ("\"IndexMusa\" not implemented for 'ComplexFloat'", "2.9.1"),
    "z.index_put((i,), z)": ("\"IndexPut\" not implemented for 'ComplexFloat'", "2.9.1"),
    "z.index_select(0, i)": ("IndexSelect unsupported!", "2.9.1"),
    "z == 0": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", None),
    "z != z": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", None),
    "z.mean()": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", None),
    "z ** 2": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", None),
    "torch.where(i == 0, z, z)": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", None),
    "F.linear(z, z, z[0])": ("SetMUTensorDType Unsupported tensor dtype: ComplexFloat", None),
    "z.scatter_add(0, i[None], z)": ("scatter_add input unsupported complex tensor dtype", None),
    "z == z": (None, None),
    "z + z * z / z - z": (None, None),
    "z @ z": (None, None),
    "z.nansum()": (None, None),
    "z.gather(0, i[None])": (None, None),
}
COMPLEX = """
import json
import musasim
musasim.install()
import torch, torch_musa, torch.nn.functional as F
z, i, found = torch.full((2, 2), 1 + 2j, device="musa"), torch.tensor([0, 1], device="musa"), {}
for call in CALLS:
    try:
        eval(call)
        found[call] = None
    except RuntimeError as error:
        found[call] = str(error)
print(json.dumps(found))
"""


@pytest.mark.full
@pytest.mark.parametrize("release", ["2.7.1", "2.9.1", "2.11.0"])
def test_complex_numbers(release: str) -> None:
    found = json.loads(run(f"CALLS = {[*OF_COMPLEX]}\n{COMPLEX}", MUSASIM_RELEASE=release))
    is_over = {
        call: until is not None and RELEASES[release] >= RELEASES[until] for call, (_, until) in OF_COMPLEX.items()
    }
    wanted = {call: None if is_over[call] else error for call, (error, _) in OF_COMPLEX.items()}
    assert {call: error and error.partition("\n")[0] for call, error in found.items()} == wanted
