"""Checks the simulator with PyTorch's operator database: each operator must do on `musa` what it does on the CPU.

Smoke tests miss wrong values, these tests do not. Each test takes every CHUNKS-th operator. So workers share the work, and
the database, which takes seconds to import, is loaded only when it is needed. Two thirds of the operators, and the other types of
all, are among the slow tests.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from musasim.base import release
from support.expecttest_stand_in import stand_in_for_expecttest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.musa, pytest.mark.filterwarnings("ignore"), pytest.mark.once]

CHUNKS = 12

CUDA_ONLY = "compiles CUDA code at run time; the CPU refuses it as well"
NO_GPU_KERNEL = "PyTorch supports it on the CPU only"
OTHER_KERNEL = (
    "PyTorch uses fused attention only for devices that it knows; here it uses the composed one, which rounds otherwise"
)
OTHER_STEPS = "PyTorch chooses the types that it adds in by the device"

# Known gaps, each with its reason. A gap that has closed fails the test until it is removed from this list.
GAPS = {
    "histogram": NO_GPU_KERNEL,
    "histogramdd": NO_GPU_KERNEL,
    "jiterator_unary": CUDA_ONLY,
    "jiterator_binary": CUDA_ONLY,
    "jiterator_binary_return_by_ref": CUDA_ONLY,
    "jiterator_2inputs_2outputs": CUDA_ONLY,
    "jiterator_4inputs_with_extra_args": CUDA_ONLY,
    "nn_functional_scaled_dot_product_attention": OTHER_KERNEL,
    "sparse_mm_reduce": NO_GPU_KERNEL,
}

# In halves only: these return their statistics, which are in single precision, as on a GPU (native/ops/deviations.cpp).
NORMALIZATIONS = ("native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update", "native_layer_norm")
GAPS_OF_HALVES = dict.fromkeys(NORMALIZATIONS if release.since("2.9.1") else (), OTHER_STEPS)
SAMPLES_OF_A_TYPE = 10

# muDNN has no convolutions of these types, so torch_musa refuses them, and so must the simulator.
REFUSED_CONVOLUTIONS = {"torch.complex128", "torch.float64", "torch.int64"}
# In its words, as those of other operators, which are refused for some samples: a softmax with dtype=torch.float64, say.
REFUSALS = (
    *(
        "Dtype of weight tensor of Convolution only support",
        "BaaddBmm only supports fp16/fp32/bf16",
    ),
    *(
        "Now muDNN only support float64, float32, half",
        "ClampScalar Unsupported tensor dtype: ",
        "BatchNorm supports Float/Half",
    ),
    *(
        "Dtype of grad_out tensor of BatchNormBackward",
        "group norm supports Float and Half",
        "Dtype of input tensor of LayerNorm",
    ),
    *(
        "Dtype of grad_out tensor of LayerNormBackward",
        "Dtype of input tensor of NativeDropout",
        "input_dtype of SoftmaxBwd only",
    ),
    *(
        "Norm only supports Float/Half/BFloat16",
        "Dtype of input tensor of addcdiv only",
        "Expected dtype of input tensor is Float32",
    ),
    # of complex numbers
    *(
        "SetMUTensorDType Unsupported tensor dtype: Complex",
        "IndexSelect unsupported!",
        "unsupported complex tensor dtype",
    ),
    *(f'"{name}" not implemented for \'Complex' for name in ("IndexMusa", "IndexPut", "index_add")),
    # of another size than the result
    "MUDNN failed in: Run",
)


@pytest.fixture(scope="module")
def operators(torch_musa: Any) -> Iterator[list[Any]]:
    import torch

    stand_in_for_expecttest()
    from torch.testing._internal.common_methods_invocations import op_db

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the samples are tiny, so threads only cost time
    yield list(op_db)
    torch.set_num_threads(threads)


def is_refused(op: Any, dtype: Any) -> bool:
    return op.name.startswith("nn.functional.conv") and str(dtype) in REFUSED_CONVOLUTIONS


def is_refused_range(op: Any, error: Exception) -> bool:
    """Whether arange refuses a type in its own words, which would fit a fault of any other operator as well."""
    return op.name == "arange" and re.search(r"unsupported data type \w+", str(error)) is not None


def failures(op: Any, dtype: Any, **options: int) -> list[str]:
    from support import ops_gate

    found = []
    for check in (ops_gate.forward, ops_gate.backward):
        if check is ops_gate.backward and not ops_gate.has_backward(op, dtype):
            continue
        try:
            check(op, dtype, **options)
            if is_refused(op, dtype) and os.environ.get("TORCHADA_ALL_DTYPES") == "0":
                found.append(f"{op.formatted_name} ({check.__name__}, {dtype}): torch_musa refuses it")
        except Exception as error:
            if any(text in str(error) for text in REFUSALS) or is_refused_range(op, error):
                continue
            found.append(f"{op.formatted_name} ({check.__name__}, {dtype}): {type(error).__name__}: {error}")
    return found


def unexpected(op: Any, found: list[str], gaps: dict[str, str]) -> list[str]:
    """The failures of an operator that is not a known gap, or that there is none where one is."""
    if op.formatted_name not in gaps:
        return found
    return [] if found else [f"{op.formatted_name} works now: remove it from the list of gaps"]


@pytest.mark.full
@pytest.mark.parametrize(
    "chunk", [pytest.param(chunk, marks=pytest.mark.slow if chunk % 3 else ()) for chunk in range(CHUNKS)]
)
def test_operators_match_the_cpu(operators: list[Any], chunk: int) -> None:
    import torch

    problems = []
    for op in [op for op in operators if torch.float32 in op.supported_dtypes("cpu")][chunk::CHUNKS]:
        problems += unexpected(op, failures(op, torch.float32), GAPS)
    assert not problems, "\n".join(problems)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_operators_match_the_cpu_in_every_type(operators: list[Any], chunk: int) -> None:
    import torch

    problems = []
    for op in operators[chunk::CHUNKS]:
        types = op.supported_dtypes("cpu") - {torch.float32}
        found = [line for dtype in sorted(types, key=str) for line in failures(op, dtype, samples=SAMPLES_OF_A_TYPE)]
        problems += unexpected(op, found, GAPS | GAPS_OF_HALVES)
    assert not problems, "\n".join(problems)


def test_every_gap_is_an_operator(operators: list[Any]) -> None:
    assert set(GAPS) <= {op.formatted_name for op in operators}
