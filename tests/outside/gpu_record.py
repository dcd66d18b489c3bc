"""`python -m outside.gpu_record FILE [--part I/N] [--only TEXT]`: what the device "cuda" makes of PyTorch's table of operators.

On a machine with an NVIDIA GPU, FILE gets what CUDA gives; on the simulator, what torchada gives; `outside.gpu_compare` compares
them. A line of JSON for each operator. A run that was stopped, or that a fault of the device has ended, goes on at the next call.
Samples are made with the same seed, so the simulator needs the grid of that GPU: TORCH_RNG_ALIGN=H100, and MUSASIM_RELEASE=2.9.1 or
newer.
"""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

from outside.parts import Part

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128]
DTYPES += [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
SAMPLES, GRADIENTS, SECONDS, NUMBERS = 6, 3, 20, 12
# Their results are whatever lies in memory.
_UNWRITTEN = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")


def numbers(tensor: torch.Tensor) -> list[float] | None:
    """Some elements, evenly spread, and the real and imaginary parts of complex ones."""
    if tensor.layout != torch.strided or tensor.numel() == 0:
        return None
    flat = tensor.detach().reshape(-1)
    places = torch.linspace(0, flat.numel() - 1, min(NUMBERS, flat.numel())).long()
    flat = flat[places.to(flat.device)].cpu()
    if flat.is_complex():
        flat = torch.view_as_real(flat.resolve_conj().to(torch.complex128)).reshape(-1)
    return [float(f"{number:.6g}") for number in flat.double().tolist()]


def described(result: Any) -> list[Any]:
    """Shape, type, strides, device and numbers of each tensor of a result; other values as they print."""
    return [
        [
            list(x.shape),
            str(x.dtype),
            list(x.stride()) if x.layout == torch.strided else str(x.layout),
            x.device.type,
            numbers(x),
        ]
        if isinstance(x, torch.Tensor)
        else repr(x)[:80]
        for x in tree_leaves(result)
        if x is not None
    ]


class TooSlowError(Exception):
    """It took more than SECONDS."""


def stop(*_: object) -> None:
    raise TooSlowError


def attempt(call: Callable[..., Any], *arguments: Any) -> Any:
    """What `call` returns, or the words of its error, within some seconds."""
    signal.alarm(SECONDS)
    try:
        return call(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:400]}"
    finally:
        signal.alarm(0)


def samples(op: Any, dtype: torch.dtype, count: int, gradients: bool) -> list[Any]:
    torch.manual_seed(0)
    return list(itertools.islice(op.sample_inputs("cuda", dtype, requires_grad=gradients), count))


def computed(op: Any, sample: Any) -> Any:
    torch.manual_seed(1)
    return op(sample.input, *sample.args, **sample.kwargs)


def forward(op: Any, sample: Any) -> list[Any]:
    return described(computed(op, sample))


def gradient(op: Any, sample: Any) -> list[Any]:
    result = computed(op, sample)
    if sample.output_process_fn_grad:
        result = sample.output_process_fn_grad(result)
    outputs = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor) and x.requires_grad]
    given = tree_leaves((sample.input, sample.args, sample.kwargs))
    inputs = [x for x in given if isinstance(x, torch.Tensor) and x.requires_grad]
    return described(torch.autograd.grad(outputs, inputs, [torch.ones_like(x) for x in outputs], allow_unused=True))


def autocast(op: Any, dtype: torch.dtype) -> list[Any]:
    with torch.autocast("cuda", dtype=dtype):
        return described(computed(op, samples(op, torch.float32, 1, False)[0]))


def of_each(op: Any, dtype: torch.dtype, count: int, gradients: bool, call: Callable[[Any, Any], Any]) -> Any:
    made = attempt(samples, op, dtype, count, gradients)
    return made if isinstance(made, str) else [attempt(call, op, sample) for sample in made]


def record(op: Any) -> dict[str, Any]:
    """By type, the forward results and gradients of some samples; the results of one under autocast."""
    taken = [dtype for dtype in DTYPES if dtype in op.supported_dtypes("cuda")]
    backward = [dtype for dtype in taken if op.supports_autograd and dtype in op.supported_backward_dtypes("cuda")]
    casts = (torch.float16, torch.bfloat16) if torch.float32 in taken else ()
    return {
        "forward": {str(dtype): of_each(op, dtype, SAMPLES, False, forward) for dtype in taken},
        "gradient": {str(dtype): of_each(op, dtype, GRADIENTS, True, gradient) for dtype in backward},
        "autocast": {str(dtype): [attempt(autocast, op, dtype)] for dtype in casts},
    }


def chosen(part: Part, only: str) -> Iterator[tuple[str, Any]]:
    for op in part.of(op_db):
        name = f"{op.name}.{op.variant_test_name}".rstrip(".")
        if only in name and op.name not in _UNWRITTEN:
            yield name, op


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m outside.gpu_record", description="Record what the device makes of operators."
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--part", type=Part.read, default=Part(), metavar="I/N")
    parser.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, stop)
    warnings.simplefilter("ignore")
    lines = options.file.read_text(encoding="utf-8").splitlines() if options.file.exists() else []
    begun = {json.loads(line)["op"] for line in lines}
    with options.file.open("a", encoding="utf-8", buffering=1) as out:
        for name, op in chosen(options.part, options.only):
            if name not in begun:
                out.write(
                    json.dumps({"op": name}) + "\n"
                )  # so that an operator that ends the process is not tried again
                out.write(json.dumps({"op": name, **record(op)}) + "\n")
                torch.cuda.synchronize()


if __name__ == "__main__":
    main()
