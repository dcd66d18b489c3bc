"""Wasted time in a profile that has to do with this device. What torch says of CUDA is said of it."""

from __future__ import annotations

from typing import Any

import torch
from torch.profiler import _pattern_matcher as torchs
from torch.utils.benchmark import Timer

from .._vendor_torch.rewriting import rewritten

Pattern = torchs.Pattern

_copy: Any = torchs.ExtraCUDACopyPattern
_product: Any = torchs.FP32MatMulPattern
_half_product: Any = torchs.MatMulDimInFP16Pattern
_COPIES = {
    'torch.ones(size).to("cuda")': 'torch.ones(size).to("musa")',
    'torch.ones(size, device="cuda")': 'torch.ones(size, device="musa")',
}


class ExtraMUSACopyPattern(_copy):  # type: ignore[misc]
    """A tensor is filled on the host and moved to the device at once."""

    def __init__(self, prof: Any, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "Extra MUSA Copy Pattern"

    benchmark = rewritten(_copy.benchmark, {}, _COPIES)


class FP32MatMulPattern(_product):  # type: ignore[misc]
    """A product is computed in single precision where TF32 would do; every chip is taken to have it."""

    def __init__(self, prof: Any, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.description: str = str(self.description).replace("backends.cuda.matmul", "backends.mudnn")

    @property
    def skip(self) -> bool:
        return torch.version.hip is not None or not self.prof.record_shapes

    def benchmark(self, events: list[Any]) -> dict[Any, float]:
        """For each pair of shapes, the time in TF32 as a part of that in single precision. TF32 is off afterwards."""
        return {shapes: _in_tf32(*shapes) for shapes in {torchs.input_shapes(event) for event in events}}


class MatMulDimInFP16Pattern(_half_product):  # type: ignore[misc]
    """A product of halves has sizes that are no multiples of eight."""

    benchmark = rewritten(_half_product.benchmark, {}, {"cuda": "musa"})


def _in_tf32(first: Any, second: Any, *_: Any) -> float:
    factors = {"a": torch.randn(first, device="musa"), "b": torch.randn(second, device="musa")}
    mudnn: Any = torch.backends.mudnn  # type: ignore[attr-defined]
    mudnn.allow_tf32 = False
    exact = Timer("torch.mm(a, b)", globals=factors).timeit(10).mean
    coarse = Timer("torch.mm(a, b)", "torch.backends.mudnn.allow_tf32 = True", globals=factors).timeit(10).mean
    return coarse / exact


report_all_anti_patterns = rewritten(torchs.report_all_anti_patterns, {"ExtraCUDACopyPattern": "ExtraMUSACopyPattern"})

vars(torchs).update(
    ExtraMUSACopyPattern=ExtraMUSACopyPattern,
    FP32MatMulPattern=FP32MatMulPattern,
    MatMulDimInFP16Pattern=MatMulDimInFP16Pattern,
    report_all_anti_patterns=report_all_anti_patterns,
)
