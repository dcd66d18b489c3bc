"""What is found in Python sources, by which rule, and how it is answered."""

from __future__ import annotations

import json
import time

import pytest

from tools.check.conftest import Project

pytestmark = pytest.mark.once


def found(project: Project, code: str) -> list[tuple[str, str, str]]:
    """Rule, name and kind of each finding in a script; the first line, `import torch`, is added."""
    result = project({"a.py": f"import torch\n{code}\n"})
    return [(each.rule, each.name, each.kind) for each in result.findings]


API, DEVICE, QUESTION = "cuda-api", "device-name", "view-question"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("torch.cuda.synchronize()", (API, "torch.cuda.synchronize", "same")),
        ("torch.cuda.memory.memory_allocated()", (API, "torch.cuda.memory.memory_allocated", "same")),
        ("torch.cuda.memory.host_memory_stats()", (API, "torch.cuda.memory.host_memory_stats", "same")),
        ("torch.cuda.graph_pool_handle()", (API, "torch.cuda.graph_pool_handle", "adapted")),
        ("torch.cuda.comm.broadcast(x, [0])", (API, "torch.cuda.comm.broadcast", "emulated")),
        ("torch.cuda.nvtx.range_push('a')", (API, "torch.cuda.nvtx", "emulated")),
        ("torch.cuda.jiterator._create_jit_fn(c)", (API, "torch.cuda.jiterator", "unsupported")),
        ("torch.cuda.amp.GradScaler()", (API, "torch.cuda.amp.GradScaler", "own")),
        ("torch.cuda.no_such_thing()", (API, "torch.cuda.no_such_thing", "unknown")),
        (
            "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False",
            (API, "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction", "own"),
        ),
        ("try: ...\nexcept torch.cuda.OutOfMemoryError: ...", (API, "torch.cuda.OutOfMemoryError", "own")),
        ("torch.backends.cudnn.benchmark = True", (API, "torch.backends.cudnn.benchmark", "own")),
        ("torch.cuda.Stream.wait_event", (API, "torch.cuda.Stream", "same")),
        ("x.cuda(non_blocking=True)", (API, "Tensor.cuda()", "adapted")),
        ("x.type('torch.cuda.FloatTensor')", (API, "torch.cuda.FloatTensor", "adapted")),
        ("torch.zeros(3, device='cuda')", (API, 'torch.zeros(device="cuda")', "adapted")),
        ("torch.device('cuda:1')", (API, 'torch.device("cuda")', "adapted")),
        ("torch.device(f'cuda:{rank}')", (API, 'torch.device("cuda")', "adapted")),
        ("torch.device('cuda:' + str(rank))", (API, 'torch.device("cuda")', "adapted")),
        ("torch.device('cuda:{}'.format(rank))", (API, 'torch.device("cuda")', "adapted")),
        ("x.to('cuda')", (API, 'Tensor.to(device="cuda")', "adapted")),
        ("torch.amp.autocast('cuda')", (API, 'torch.autocast("cuda")', "adapted")),
        ("torch.autocast(device_type='cuda')", (API, 'torch.autocast("cuda")', "adapted")),
        ("torch.distributed.init_process_group('nccl')", (DEVICE, '"nccl"', "adapted")),
        ("torch.distributed.new_group(backend='cpu:gloo,cuda:nccl')", (DEVICE, '"nccl"', "adapted")),
        ("DEVICE = 'cuda'", (DEVICE, '"cuda"', "adapted")),
        ("DEVICE = 'cuda:' + str(rank)", (DEVICE, '"cuda"', "adapted")),
        ("DEVICE = f\"{'cuda' if x.g else 'cpu'}:{rank}\"", (DEVICE, '"cuda"', "adapted")),
        ("DEVICES = ('cuda', 'xpu', 'cpu')", (DEVICE, '"cuda"', "adapted")),
        ("pairs = [('torch', make(device='cuda'))]", (DEVICE, '"cuda"', "adapted")),
        ("BACKEND = make(device='cuda')", (DEVICE, '"cuda"', "adapted")),
        ("mark.parametrize('backend,device', [('cuda', 'cuda')])", (DEVICE, '"cuda"', "adapted")),
        ("def f(device='cuda:0'): ...", (DEVICE, '"cuda"', "adapted")),
        ("def f(backend='cuda', device='cuda:0'): ...", (DEVICE, '"cuda"', "adapted")),
        ("def f(*, where='cuda', backend='cuda'): ...", (DEVICE, '"cuda"', "adapted")),
        ("train(device='cuda')", (DEVICE, '"cuda"', "adapted")),
        ("parser.add_argument('--device', default='cuda')", (DEVICE, '"cuda"', "adapted")),
        ("f(device_name='cuda')", (DEVICE, '"cuda"', "adapted")),
        ("config.get('device', 'cuda')", (DEVICE, '"cuda"', "adapted")),
        ("s.cuda_stream", (API, "torch.cuda.Stream.cuda_stream", "adapted")),
        ("evt.self_cuda_time_total", (API, "torch.autograd.profiler_util.FunctionEventAvg.self_cuda_time_total", "adapted")),
        ("torch.cuda.is_available()", (QUESTION, "torch.cuda.is_available", "adapted")),
        ("torch.version.cuda", (QUESTION, "torch.version.cuda", "emulated")),
        ("x.is_cuda", (QUESTION, "Tensor.is_cuda", "adapted")),
        ("x.device.type == 'cuda'", (QUESTION, 'device.type == "cuda"', "adapted")),
        ("d.type in ('cuda', 'xpu')", (QUESTION, 'device.type in "cuda"', "adapted")),
        ("'cuda' in str(d.device)", (QUESTION, '"cuda" in str(device)', "adapted")),
        ("str(device).startswith('cuda')", (QUESTION, 'str(device).startswith("cuda")', "adapted")),
        ("import pynvml", ("nvidia-import", "pynvml", "")),
        ("from cupy import array", ("nvidia-import", "cupy", "")),
        ("from numba import cuda", ("nvidia-import", "numba.cuda", "")),
        ("from nvidia.dali import pipeline", ("nvidia-import", "nvidia", "")),
        ("import subprocess\nsubprocess.run(['nvidia-smi', '-q'])", ("nvidia-program", "nvidia-smi", "")),
        ("import os\nos.system('nvcc -V')", ("nvidia-program", "nvcc", "")),
        ("import triton\n@triton.jit\ndef kernel(): ...", ("triton-kernel", "kernel", "")),
        ("import triton\n@triton.autotune(configs=[])\n@triton.jit\ndef kernel(): ...", ("triton-kernel", "kernel", "")),
        (
            "import triton.language as tl\ntl.inline_asm_elementwise()",
            ("triton-kernel", "triton.language.inline_asm_elementwise", ""),
        ),
        (
            "from torch.utils.cpp_extension import CUDAExtension as E\nE('a', [])",
            (API, "torch.utils.cpp_extension.CUDAExtension", "own"),
        ),
        ("from torch.cuda.amp import autocast", (API, "torch.cuda.amp.autocast", "own")),
    ],
)  # fmt: skip
def test_a_use_is_found_once(project: Project, code: str, expected: tuple[str, str, str]) -> None:
    assert found(project, code) == [expected]


@pytest.mark.parametrize(
    "code",
    [
        "'''Runs on cuda.'''",
        "print('cuda')",
        "os.path.join(root, 'cuda')",
        "config['cuda']",
        "config.get('cuda')",
        "getattr(config, 'cuda', False)",
        "parser.add_argument('cuda')",
        "conv(x, backend='cuda')",
        "conv(x, conv_backend='cuda')",
        "mark.parametrize('backend', ['torchy', 'cuda'])",
        "FP8_BACKEND = 'dsl' if new else 'cuda'",
        "class A:\n    conv_backend: str = 'cuda'",
        "KERNEL: Literal['cuda', 'triton'] = 'cuda'",
        "os.environ['CONV_BACKEND'] = 'cuda'",
        "monkeypatch.setenv('CONV_BACKEND', 'cuda')",
        "EXTRAS = {'cuda', 'rocm', 'cpu'}",
        "(fuse, ('cuda', 'dml'))",
        "PACKAGES = ['torch', 'nccl']",
        "parser.add_argument('--kernel', choices=['cuda', 'triton'], default='cuda')",
        "root / 'kernels' / 'cuda'",
        "f\"{'cuda' if x.g else 'cpu'}_time_total\"",
        "for part in ('cuda:', 'none'): ...",
        "read_attr('cuda')",
        "def f(*, weight_sync_mode: str = 'nccl'): ...",
        "self.sync_mode = 'nccl' if x.g else 'gloo'",
        "attend(x, attention_impl='cuda')",
        "prefix = 'rocks' if hip else 'cuda'",
        "suffices = ['cpu', 'cuda'] if with_cuda else ['cpu']",
        "mark.parametrize(('n', 'backend'), [(1, 'cuda'), param(2, 'cuda')])",
        "mark.parametrize('n, conv_backend', [param(*each, id='a') for each in [(1, 'cuda')]])",
        "cu = 1\nfrom onnxruntime.transformers import float16",
        "getattr(target, 'backend', 'cuda')",
        "def f(a, conv_backend: str = 'cuda', *, backend='cuda', method='cuda'): ...",
        "class Loader:\n    def __init__(self):\n        self.is_cuda = True\n    def f(self):\n        return self.is_cuda",
        "class Results:\n    def cuda(self):\n        return self._apply('cuda')",
        "torch.set_default_dtype(x)",
        "torch.distributed.get_default_backend_for_device(d)",
        "from torch.utils.cpp_extension import CppExtension\nCppExtension('a', [])",
        "{'cuda': 1}",
        "args.cuda",
        "backend == 'nccl'",
        "backend not in ('gloo', 'nccl')",
        "impls = ['python', 'cuda']",
        "name == 'cuda'",
        "'cuda' in text",
        "hasattr(torch, 'cuda')",
        "import torch.cuda",
        "c = torch.cuda",
        "import taichi as ti\nti.cuda()",
        "f = 'barracuda'",
        "x.to('cpu')",
        "x.to(device)",
        "torch.zeros(3)",
        "import triton",
    ],
)
def test_what_only_looks_like_it_is_left_alone(project: Project, code: str) -> None:
    assert found(project, code) == []


def test_a_place_is_that_of_the_name(project: Project) -> None:
    result = project({"a.py": "import torch\nà = (torch\n   .ones(3)\n   .cuda()); b = torch.cuda.Stream()\n"})
    places = {each.name: (each.line, each.column, each.end) for each in result.findings}
    assert places == {"Tensor.cuda()": (4, 5, 9), "torch.cuda.Stream": (4, 18, 35)}


def test_columns_count_characters(project: Project) -> None:
    (found,) = project({"a.py": "import torch\nà = 'é', torch.cuda.Stream()\n"}).findings
    assert (found.column, found.end) == (10, 27)


def test_a_projects_own_package_is_no_dependency(project: Project) -> None:
    result = project({"apex/__init__.py": "", "apex/a.py": "import apex.b", "requirements.txt": "apex\ncupy\n"})
    assert [(each.rule, each.name) for each in result.findings] == [("nvidia-requirement", "cupy")]


def test_sources_in_cuda_are_the_porters(project: Project) -> None:
    result = project(
        {"a.cu": '__global__ void k() { asm("bar.sync 1, 64;"); }\n', "b.cpp": "int x;\n", "k.h": "#define A 1\n"}
    )
    assert [(each.rule, each.severity, each.file, each.line) for each in result.findings] == [
        ("cuda-source", "error", "a.cu", 1)
    ]
    assert result.files == {"cuda": 3}


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("requirements.txt", "torch\ncupy-cuda12x==13 # arrays\n", ["cupy-cuda12x"]),
        ("requirements/gpu.txt", "nvidia-cublas-cu12\n", ["nvidia-cublas-cu12"]),
        ("requirements.txt", "--extra-index-url https://download.pytorch.org/whl/cu121\n",
         ["--extra-index-url https://download.pytorch.org/whl/cu121"]),
        ("requirements.txt", "torch==2.7.1+cu126\n", ["torch==2.7.1+cu126"]),
        ("pyproject.toml", "[project]\nname = 'x'\ndependencies = ['flash-attn>=2']\nkeywords = ['apex']\n", ["flash-attn"]),
        ("pyproject.toml", "[tool.poetry.dependencies]\npynvml = '^11'\n", ["pynvml"]),
        ("pyproject.toml", "[dependency-groups]\ngpu = ['cudf-cu12']\n", ["cudf-cu12"]),
        ("setup.cfg", "[options]\ninstall_requires =\n    tensorrt\n", ["tensorrt"]),
        ("setup.py", "setup(install_requires=['nvidia-ml-py'], libraries=['nccl'])\n", ["nvidia-ml-py"]),
        ("environment.yml", "dependencies:\n  - pytorch-cuda=12.1\n  - pip:\n    - cupy\n", ["pytorch-cuda", "cupy"]),
        ("Dockerfile", "FROM nvidia/cuda:12.1\nRUN pip uninstall apex\n", ["nvidia/cuda:12.1"]),
        ("Dockerfile", "RUN pip install bitsandbytes\n", ["bitsandbytes"]),
        ("environment.yml", "dependencies: # cupy\n  - conda-forge::cudatoolkit=11.8 # [linux]\n"
         "  - \"nvidia::cuda-nvcc\"\n  - 'cupy' # x\n",
         ["cudatoolkit", "cuda-nvcc", "cupy"]),
        ("Dockerfile", "# pip install apex\nRUN echo apex\n", []),
        ("Pipfile", "[dev-packages]\ncupy = '*'\n[requires]\ncudf = '3'\n", ["cupy"]),
        ("requirements.txt", "cupy==13.* --hash=sha256:0a \\\n  --hash=sha256:0b\ncudf>=1.0dev-x\n", ["cupy", "cudf"]),
    ],
)  # fmt: skip
def test_requirements_for_nvidias_devices(project: Project, path: str, text: str, expected: list[str]) -> None:
    assert [each.name for each in project({path: text}).findings if each.rule == "nvidia-requirement"] == expected


# How a requirement with a marker is written, and whether what it names is found under the name cupy.
_WRITTEN = {
    "requirements.txt": "cupy>=13; {} # for arrays\n",
    "constraints.txt": "cupy==13 ; {} \\\n    --hash=sha256:0a\n",
    "pyproject.toml": '[project]\ndependencies = [\n    "cupy>=13; {}",\n]\n',
    "setup.py": 'setup(install_requires=["cupy>=13; {}"])\n',
    "setup.cfg": "[options]\ninstall_requires =\n    cupy>=13; {}\n",
    "environment.yml": "dependencies:\n  - pip:\n    - cupy>=13; {}\n",
    "Pipfile": '[packages]\ncupy = {{version = "*", markers = "{}"}}\n',
    "sub/pyproject.toml": '[tool.poetry.dependencies]\ncupy = {{version = "^13", markers = "{}"}}\n',
}


@pytest.mark.parametrize("path", _WRITTEN)
@pytest.mark.parametrize(
    ("marker", "is_asked_for"),
    [
        ("python_version > '3.8'", True),
        ("python_version == '3.12' and platform_machine == 'aarch64'", True),
        ("python_full_version < '3.10.2'", True),
        ("platform_system != 'Darwin'", True),
        ("extra == 'gpu'", True),
        ("sys_platform == 'win32'", False),
        ("python_version < '3.8'", False),
        ("extra == 'gpu' and os_name == 'nt'", False),
        ("implementation_name == 'pypy'", False),
    ],
)
def test_a_requirement_counts_where_its_marker_holds_on_some_supported_platform(
    project: Project, path: str, marker: str, is_asked_for: bool
) -> None:
    result = project({path: _WRITTEN[path].format(marker)})
    assert [each.name for each in result.findings] == ["cupy"] * is_asked_for


@pytest.mark.parametrize("text", [
    '[project]\ndependencies = ["cupy; python_version > \\"3.8\\""]\n',
    "[project]\ndependencies = ['cupy; python_version > \"3.8\"']\n",
    "[tool.poetry.dependencies]\ncupy = [{markers = \"os_name == 'nt'\"}, {markers = \"os_name == 'posix'\"}]\n",
    "[tool.poetry.dependencies]\ncupy = [{version = '1', markers = \"os_name == 'nt'\"}, {version = '2'}]\n",
])  # fmt: skip
def test_markers_in_a_pyproject_are_read_whatever_the_quotes(project: Project, text: str) -> None:
    assert [each.name for each in project({"pyproject.toml": text}).findings] == ["cupy"]


@pytest.mark.parametrize(
    "marker", ["no such thing", "'gpu' in extras or sys_platform == 'win32'", "python_version ~= 'three'"]
)
def test_a_requirement_whose_marker_says_nothing_that_is_known_counts(project: Project, marker: str) -> None:
    assert [each.name for each in project({"requirements.txt": f"cupy; {marker}\n"}).findings] == ["cupy"]


def test_a_build_of_torch_for_another_system_is_not_asked_for(project: Project) -> None:
    text = "torch==2.7.1+cu126; sys_platform == 'win32'\ntorch==2.7.1+cu128; sys_platform == 'linux'\n"
    assert [each.line for each in project({"requirements.txt": text}).findings] == [2]


def test_a_notebook_is_read_by_its_cells(project: Project) -> None:
    notebook = """{"cells": [
 {"cell_type": "markdown", "source": ["torch.cuda.Stream()"]},
 {"cell_type": "code", "source": ["%matplotlib inline\\n", "import torch\\n", "!nvidia-smi\\n", "a = !ls\\n",
  "torch.cuda.jiterator"]},
 {"cell_type": "code", "source": "x = torch.ones(2).cuda()"}]}"""
    result = project({"a.ipynb": notebook})
    assert [(each.name, each.line) for each in result.findings] == [("torch.cuda.jiterator", 4), ("Tensor.cuda()", 5)]


@pytest.mark.parametrize("path", ["a.py", "a.pyx", "a.ipynb"])
def test_a_question_is_one_where_nothing_can_be_parsed(project: Project, path: str) -> None:
    lines = ["is_musa", "print 'Python 2'", "torch.cuda.is_available()"]
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": "\n".join(lines)}]})
    result = project({path: notebook if path.endswith(".ipynb") else "\n".join(lines)})
    (found,) = [each for each in result.findings if each.rule != "not-read"]
    assert (found.rule, found.severity, found.name) == (QUESTION, "note", "torch.cuda.is_available")
    assert found.view == ("musa" if path == "a.py" else "cuda") and "because of who asks" in found.message


def test_what_is_excluded_is_left_out(project: Project) -> None:
    files = {"tests/a.py": "x.cuda()", "src/a.py": "x.cuda()", "src/b/c.py": "x.cuda()"}
    assert [each.file for each in project(files, exclude=("tests", "src/b/*")).findings] == ["src/a.py"]


@pytest.mark.parametrize(
    "line", ["- ", "x[", "cupy ", "- cupy ", "cupy \\", "cupy; ", "cupy; (", "'", "a" * 9, "[options]\n"]
)
@pytest.mark.parametrize(
    "path", ["requirements.txt", "environment.yml", "pyproject.toml", "Dockerfile", "setup.cfg", "Pipfile"]
)
def test_a_hostile_line_takes_no_time(project: Project, path: str, line: str) -> None:
    """Not even where it is so long that time by the square of its length would be many seconds."""
    started = time.process_time()
    project({path: line + line[-1] * 200_000 + "!\n"})
    assert time.process_time() - started < 5
