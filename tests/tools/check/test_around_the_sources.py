"""What is found besides uses of CUDA's API: comparisons, operators, variables, other libraries, and the files around sources."""

from __future__ import annotations

import pytest

from tools.check.conftest import Project
from torchada.tools.check import Finding

pytestmark = pytest.mark.once


def told(findings: list[Finding], rule: str) -> list[tuple[str, str, int]]:
    return [(finding.severity, finding.name, finding.line) for finding in findings if finding.rule == rule]


CAPABILITIES = """
import torch
from torch.cuda import get_device_capability as capability
if torch.cuda.get_device_capability() >= (8, 0): pass
major, minor = torch.cuda.get_device_capability()
if major * 10 + minor >= 75: pass
if torch.cuda.get_device_properties(0).major < 8: pass
class A:
    def f(self):
        self.cc = torch.cuda.get_device_capability()
        return self.cc[0] == 9
if sys.version_info.major >= 3: pass
print(torch.cuda.get_device_capability())
"""


def test_a_comparison_of_the_capability_is_found_where_it_stands(project: Project) -> None:
    comparisons = told(project({"a.py": CAPABILITIES}).findings, "capability-comparison")
    assert [(severity, line) for severity, _, line in comparisons] == [("warning", line) for line in (4, 6, 7, 11)]
    assert comparisons[0][1] == "torch.cuda.get_device_capability() >= (8, 0)"


OPERATORS = """
import torch
import torch.nn.functional as F
y = torch.fft.fft(torch.ones(4, dtype=torch.float16))
z = torch.fft.fft(torch.ones(4))
a = torch._int_mm(y, y)
b = y.logcumsumexp(0)
c = torch.special.chebyshev_polynomial_t(y, 3)
d = torch.special.erf(y)
"""


def test_operators_that_torch_musa_refuses_or_leaves_to_the_cpu_are_found(project: Project) -> None:
    assert told(project({"a.py": OPERATORS}).findings, "vendor-operator") == [
        ("note", "torch.fft.fft", 4),
        ("note", "torch._int_mm", 6),
        ("note", "torch.logcumsumexp", 7),
        ("note", "torch.special.chebyshev_polynomial_t", 8),
    ]


VARIABLES = """
import os
os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
os.environ.setdefault("NCCL_DEBUG", "INFO")
os.getenv("NVIDIA_TF32_OVERRIDE")
os.environ["CUDA_HOME"]
os.environ["NCCL_ALGO"] = "Ring"
table.get("CUDA_HOME")
"""


def test_variables_are_found_with_what_becomes_of_them(project: Project) -> None:
    findings = project({"a.py": VARIABLES}).findings
    assert told(findings, "cuda-variable") == [
        ("ok", "CUDA_LAUNCH_BLOCKING", 3),
        ("ok", "NCCL_DEBUG", 4),
        ("warning", "NVIDIA_TF32_OVERRIDE", 5),
        ("note", "CUDA_HOME", 6),
        ("warning", "NCCL_ALGO", 7),
    ]
    assert [finding.to for finding in findings][:2] == ["MUSA_LAUNCH_BLOCKING", "MCCL_DEBUG"]


OTHERS = """
import faiss
import onnxruntime as ort
s = ort.InferenceSession("m.onnx", providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
r = faiss.StandardGpuResources()
i = faiss.IndexFlatL2(4)
check_requirements("onnxruntime-gpu>=1.2")
"""


def test_other_libraries_on_nvidias_devices_are_found(project: Project) -> None:
    findings = project({"a.py": OTHERS}).findings
    assert told(findings, "nvidia-use") == [
        ("warning", "CUDAExecutionProvider", 4),
        ("warning", "faiss.StandardGpuResources", 5),
    ]
    assert told(findings, "nvidia-requirement") == [("error", "onnxruntime-gpu>=1.2", 7)]


IMPORTS = """
from typing import TYPE_CHECKING
import cupy
try:
    import tensorrt
except ImportError:
    tensorrt = None
try:
    import cuml
except ImportError:
    raise
try:
    import cudf
except (KeyError, ModuleNotFoundError):
    pass
def export():
    import torch2trt
if TYPE_CHECKING:
    import cugraph
"""


def test_an_import_that_a_program_may_do_without_is_a_warning(project: Project) -> None:
    assert told(project({"a.py": IMPORTS}).findings, "nvidia-import") == [
        ("error", "cupy", 3),
        ("warning", "tensorrt", 5),
        ("error", "cuml", 9),
        ("warning", "cudf", 13),
        ("warning", "torch2trt", 17),
        ("warning", "cugraph", 19),
    ]


SCRIPT = """#!/bin/sh
# nvidia-smi
export CUDA_LAUNCH_BLOCKING=1 && nvidia-smi -q
NCCL_DEBUG=INFO nsys profile python a.py
echo "nvcc is a compiler"
pip install cupy-cuda12x
"""


def test_scripts_of_the_shell_are_read(project: Project) -> None:
    findings = project({"run.sh": SCRIPT}).findings
    assert told(findings, "nvidia-program") == [("warning", "nvidia-smi", 3), ("warning", "nsys", 4)]
    assert told(findings, "cuda-variable") == [("ok", "CUDA_LAUNCH_BLOCKING", 3), ("ok", "NCCL_DEBUG", 4)]
    assert told(findings, "nvidia-requirement") == [("error", "cupy-cuda12x", 6)]


def test_cmake_and_compositions_of_containers_are_read(project: Project) -> None:
    cmake = "project(a LANGUAGES CXX CUDA)\nfind_package(CUDAToolkit REQUIRED)\n# enable_language(CUDA)\n"
    compose = (
        "services:\n  a:\n    image: nvidia/cuda:12.1.0-devel\n    runtime: nvidia\n  b:\n    image: postgres:16\n"
    )
    findings = project({"CMakeLists.txt": cmake, "docker-compose.yml": compose}).findings
    assert told(findings, "cuda-build") == [
        ("note", "project(CUDA)", 1),
        ("note", "find_package(CUDA)", 2),
        ("error", "nvidia/cuda:12.1.0-devel", 3),
        ("error", "runtime: nvidia", 4),
    ]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("requirements.txt", "git+https://github.com/cupy/cupy.git@v13#egg=cupy\n", 1),
        ("requirements.txt", "-e git+ssh://git@github.com/cupy/cupy\n", 1),
        ("uv.lock", 'version = 1\n[[package]]\nname = "cupy"\nversion = "13"\n', 3),
        ("poetry.lock", '[[package]]\nname = "cupy"\n', 2),
        ("pdm.lock", '[[package]]\nname = "cupy"\n', 2),
        ("pixi.lock", "packages:\n- conda: https://conda.anaconda.org/conda-forge/linux-64/cupy-13.3.0-py311\n", 2),
        ("pixi.lock", "- kind: pypi\n  name: cupy\n", 2),
        ("pixi.toml", '[workspace]\nname = "cupy"\n[dependencies]\ncupy = "*"\n', 4),
    ],
)
def test_repositories_and_lock_files_are_requirements(project: Project, name: str, text: str, line: int) -> None:
    assert told(project({name: text}).findings, "nvidia-requirement") == [("error", "cupy", line)]


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a = 1", 1), ("a = 1\n", 1), ("a = 1\n\n", 2)])
def test_lines_are_counted_as_wc_counts_them(project: Project, text: str, lines: int) -> None:
    assert project({"a.py": text}).lines == lines


def test_a_shell_variable_of_the_scripts_own_is_none_of_cudas(project: Project) -> None:
    own, known = "CUDA_SHORT=10.1\n", "CUDA_HOME=/usr/local/cuda\n"
    exported = "export CUDA_MINE=1\nexport CUDA_CACHE_PATH=/c\nexport TORCH_CUDA_ARCH_LIST=8.0\n"
    script = f"{own}{known}{exported}NCCL_DEBUG=INFO python a.py\n"
    findings = project({"env.sh": script}).findings
    assert told(findings, "cuda-variable") == [
        ("note", "CUDA_HOME", 2),
        ("note", "CUDA_CACHE_PATH", 4),
        ("ok", "TORCH_CUDA_ARCH_LIST", 5),
        ("ok", "NCCL_DEBUG", 6),
    ]
    assert "handed on as TORCH_MUSA_ARCH_LIST" in [finding.message for finding in findings]


def test_what_a_function_installs_is_optional(project: Project) -> None:
    call = "check_requirements(('onnx', 'onnxruntime-gpu' if x else 'paddlepaddle-gpu'))"
    code = f"check_requirements('tensorrt')\ndef export():\n    {call}\n"
    assert told(project({"a.py": code}).findings, "nvidia-requirement") == [
        ("error", "tensorrt", 1),
        ("warning", "onnxruntime-gpu", 3),
        ("warning", "paddlepaddle-gpu", 3),
    ]
