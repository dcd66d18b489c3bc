"""The same seed gives what an NVIDIA GPU drew: numbers read off an H100 (132 multiprocessors), torch 2.11.0 for CUDA 13.0.

numbers_of_an_h100.json has a row for each function, size and type, after torch.cuda.manual_seed(123): places in the first result,
what stood there (real and imaginary parts of complex numbers), the beginning of a second result, and the generator's offset then.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once, pytest.mark.full]
NUMBERS = Path(__file__).parent / "numbers_of_an_h100.json"

PROGRAM = f"""
import json
import torch
from torch.nn import functional as F


def filled(n, dtype, value):
    return torch.full((n,), value, device="cuda", dtype=dtype)


def weights(n, dtype):
    return torch.ones(3, n, device="cuda", dtype=dtype)


DRAWS = {{
    "rand": lambda n, dtype: torch.rand(n, device="cuda", dtype=dtype),
    "randn": lambda n, dtype: torch.randn(n, device="cuda", dtype=dtype),
    "uniform_": lambda n, dtype: filled(n, dtype, 0).uniform_(-2, 3),
    "normal_": lambda n, dtype: filled(n, dtype, 0).normal_(1, 2),
    "normal_tt": lambda n, dtype: torch.normal(filled(n, dtype, 0), filled(n, dtype, 1)),
    "exponential_": lambda n, dtype: filled(n, dtype, 0).exponential_(1.5),
    "cauchy_": lambda n, dtype: filled(n, dtype, 0).cauchy_(1, 2),
    "log_normal_": lambda n, dtype: filled(n, dtype, 0).log_normal_(0.1, 0.5),
    "geometric_": lambda n, dtype: filled(n, dtype, 0).geometric_(0.3),
    "bernoulli_p": lambda n, dtype: filled(n, dtype, 0).bernoulli_(0.3),
    "bernoulli_": lambda n, dtype: filled(n, dtype, 0).bernoulli_(0.3),
    "bernoulli": lambda n, dtype: torch.bernoulli(filled(n, dtype, 0.3)),
    "bernoulli_t": lambda n, dtype: filled(n, dtype, 0).bernoulli_(filled(n, dtype, 0.3)),
    "dropout": lambda n, dtype: F.dropout(filled(n, dtype, 1), 0.3),
    "alpha_dropout": lambda n, dtype: F.alpha_dropout(filled(n, dtype, 1), 0.3),
    "random_": lambda n, dtype: filled(n, dtype, 0).random_(),
    "random_to": lambda n, dtype: filled(n, dtype, 0).random_(0, 7),
    "randint": lambda n, dtype: torch.randint(0, 2 if dtype == torch.bool else 100, (n,), device="cuda", dtype=dtype),
    "randint_large": lambda n, dtype: torch.randint(-(1 << 40), 1 << 45, (n,), device="cuda"),
    "randint_31": lambda n, dtype: torch.randint(0, 1 << 31, (n,), device="cuda"),
    "randint_28": lambda n, dtype: torch.randint(0, (1 << 28) + 3, (n,), device="cuda"),
    "randperm": lambda n, dtype: torch.randperm(n, device="cuda", dtype=dtype),
    "multinomial": lambda n, dtype: torch.multinomial(weights(n, dtype), min(n, 5)),
    "multinomial_repl": lambda n, dtype: torch.multinomial(weights(50, dtype), n, replacement=True),
}}


def parts(tensor):
    real = torch.view_as_real(tensor.to(torch.complex128)).reshape(-1) if tensor.is_complex() else tensor
    return real.double()


rows = json.load(open({str(NUMBERS)!r}))
for row, (places, numbers, later, offset) in rows.items():
    name, size, dtype = row.split()
    dtype = getattr(torch, dtype)
    torch.cuda.manual_seed(123)
    first, second = (DRAWS[name](int(size), dtype).reshape(-1).cpu() for _ in range(2))
    tolerance = {{torch.float16: 2e-3, torch.bfloat16: 2e-2}}.get(dtype, 1e-4 if name == "cauchy_" else 3e-6)
    for drawn, expected in ((parts(first[places]), numbers), (parts(second)[: len(later)], later)):
        expected = torch.tensor(expected, dtype=torch.float64)
        torch.testing.assert_close(drawn, expected, rtol=tolerance, atol=tolerance, msg=lambda text: f"{{row}}: {{text}}")
    assert torch.cuda.default_generators[0].get_offset() == offset, row
print(len(rows))
"""

# Elements are numbered as one reads them where the tensor is dense and its numbers are read one by one (read off the same GPU).
TURNED = "10100010101110110110010110110010001"


def test_every_function_and_type(musa: Interpreter) -> None:
    said = musa.run(PROGRAM, env={"MUSASIM_RELEASE": "2.9.1", "TORCH_RNG_ALIGN": "H100"}).stdout
    assert int(said) > 250


def test_dropout_of_a_transposed_tensor(musa: Interpreter) -> None:
    code = """
    import torch
    torch.cuda.manual_seed(0)
    kept = torch.nn.functional.dropout(torch.ones(5, 7, device="cuda").t(), 0.5) != 0
    print("".join("01"[value] for value in kept.reshape(-1).tolist()))
    """
    assert musa.run(code, forked=True).stdout.split() == [TURNED]
