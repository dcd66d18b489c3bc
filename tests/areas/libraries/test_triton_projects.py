"""Packages whose kernels are Triton's, unchanged, on the simulator: each operation against torch on the CPU, with its gradients."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import Interpreter

NEEDS = ("triton",)
PROJECTS = Path(__file__).parent / "programs" / "triton_projects"
PROGRAMS = {
    "liger.py": ("liger_kernel", 19),
    "linear_attention.py": ("fla", 11),
    "mamba.py": ("mamba_ssm", 5),
    "whisper_timing.py": ("whisper", 2),
    "torchao_kernels.py": ("torchao", 4),
    "unsloth_kernels.py": ("unsloth", 16),
}

# Both are in bfloat16, which has eight bits. Results and gradients of the first are up to 5; the second is relative.
TOLERANCES = {"chunk_delta_rule": 0.1, "blockwise_fp8_gemm": 2**-8}


@pytest.mark.parametrize("program", list(PROGRAMS))
def test_its_kernels_compute_what_torch_does(musa: Interpreter, tmp_path: Path, program: str) -> None:
    package, cases = PROGRAMS[program]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    # Otherwise unsloth writes modules to the current folder.
    musa.env.update(TRITON_CACHE_DIR=str(tmp_path), UNSLOTH_COMPILE_LOCATION=str(tmp_path / "unsloth"))
    errors = json.loads(musa.run([str(PROJECTS / program)], timeout=1800).stdout.strip().splitlines()[-1])
    assert len(errors) == cases
    raised = {name: error for name, error in errors.items() if isinstance(error, str)}
    assert raised == {}
    assert {name: error for name, error in errors.items() if error > TOLERANCES.get(name, 1e-3)} == {}
