"""Names of torchada 0.1 that have a better way now: each still works, and says so at the line of the program that uses it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import torchada
from support.interpreter import Interpreter
from torchada.building.errors import BuildError
from torchada.triton.autotune.fused_moe.utils import get_config_filename, merge_configs, save_configs, sort_config
from torchada.triton.runtime.fused_moe.config import get_config, override_config
from torchada.utils import cpp_extension

pytestmark = [pytest.mark.musa, pytest.mark.once]


def deprecated(name: str) -> Any:
    return pytest.warns(DeprecationWarning, match=rf"^{name}.* torchada 0\.1")


def test_a_program_is_told_at_its_own_line(musa: Interpreter) -> None:
    code = """
        import warnings, torchada
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            from torchada._platform import detect_platform
            torchada.apply_patches()
            torchada.cuda.device_count
        for each in caught:
            print(each.filename.rpartition("/")[2], each.lineno, each.category.__name__, str(each.message).split(" is ")[0])
    """
    lines = [line.split(" ", 1) for line in musa.run(code, forked=True).stdout.splitlines()]
    assert [rest for _, rest in lines] == [
        "5 DeprecationWarning torchada._platform.detect_platform",
        "6 DeprecationWarning torchada.apply_patches",
        "7 DeprecationWarning torchada.cuda.device_count",
    ]
    assert {file for file, _ in lines} == {"<string>"}


def test_patches_are_applied_where_they_were_undone(musa: Interpreter) -> None:
    code = """
        import torch, torchada, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        torchada.disable()
        assert not torchada.is_patched()
        if not torchada.is_patched():
            torchada.apply_patches()
        assert torchada.is_patched() and torch.ones(1, device="cuda").device.type == "musa"
    """
    musa.run(code, forked=True)


def test_the_original_init_process_group_knows_no_nccl(musa: Interpreter) -> None:
    code = """
        import torch, torchada, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        import torch.distributed as dist
        original = torchada.get_original_init_process_group()
        with torchada.disabled():
            assert original.__code__ is dist.init_process_group.__code__
            assert original is dist.init_process_group
    """
    musa.run(code, forked=True)


@pytest.mark.parametrize("name", ["set_device", "Stream", "memory_allocated", "synchronize"])
def test_torchada_cuda_is_torch_cuda(name: str) -> None:
    with deprecated(f"torchada.cuda.{name}"):
        assert getattr(torchada.cuda, name) is getattr(torch.cuda, name)
    with pytest.raises(AttributeError, match=r"module 'torchada\.cuda' has no attribute 'nonsense'"):
        torchada.cuda.nonsense  # noqa: B018


def test_torchada_cuda_is_available_asks_the_device() -> None:
    with deprecated("torchada.cuda.is_available"):
        assert torchada.cuda.is_available() is True


@pytest.mark.parametrize(("module", "name"), [("amp", "autocast"), ("nvtx", "range_push"), ("random", "manual_seed")])
def test_modules_of_torchada_cuda(module: str, name: str) -> None:
    with deprecated(rf"torchada.cuda.{module}.{name}"):
        assert getattr(getattr(torchada.cuda, module), name) is getattr(getattr(torch.cuda, module), name)


def test_the_backends_own_names_in_torch_cuda() -> None:
    assert torch.cuda.MUSAGraph is torch.cuda.CUDAGraph
    assert torch.cuda.mccl is torch.musa.mccl  # type: ignore[attr-defined]
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with deprecated(r"torch\.cuda\.graph"):
        capture = torch.cuda.graph(musa_graph=graph)
    with capture:
        y = x + 1
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5.0] * 4
    with pytest.raises(TypeError, match="cuda_graph"):
        torch.cuda.graph()


def test_the_backends_own_graph_context_takes_cudas_keyword() -> None:
    x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.musa.graph(cuda_graph=graph):  # type: ignore[attr-defined]
        y = x + 1
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5.0] * 4


@pytest.mark.parametrize("function", [cpp_extension.include_paths, cpp_extension.library_paths])
def test_paths_by_the_argument_that_older_torch_had(function: Callable[..., list[str]]) -> None:
    for call in (lambda: function(cuda=True), lambda: function(True)):
        with pytest.warns(DeprecationWarning, match=r"use \w+_paths\('cuda'\)"):
            assert call() == function("cuda")
    with pytest.warns(DeprecationWarning, match=r"_paths\(cuda=False\) is how torch before 2\.6"):
        assert function(cuda=False) == function()


@pytest.mark.skipif(
    "torch_include_dirs" not in inspect.signature(torch.utils.cpp_extension.include_paths).parameters,
    reason="this torch's functions have no such argument",
)
@pytest.mark.parametrize("function", [cpp_extension.include_paths, cpp_extension.library_paths])
def test_paths_without_torch(function: Callable[..., list[str]]) -> None:
    root = str(Path(torch.__file__).parent)
    found = function("cuda", torch_include_dirs=False)
    assert found and not [path for path in found if path.startswith(root)]
    assert set(found) < set(function("cuda"))


def test_a_text_is_ported() -> None:
    with deprecated(r"torchada\.utils\.cpp_extension\._port_cuda_source"):
        port = cpp_extension._port_cuda_source('cudaMalloc(&p, 4); own_cuda(); "cudaMalloc"')
    assert port == 'musaMalloc(&p, 4); own_cuda(); "cudaMalloc"'
    with deprecated(r"torchada\.utils\.cpp_extension\._port_cuda_source"):
        assert cpp_extension._port_cuda_source("own_cuda();", {"own_cuda": "own_musa"}) == "own_musa();"


def test_a_folder_is_ported_in_place(tmp_path: Path) -> None:
    """Under the names that its files have; native sources and other files stay, and a second time changes nothing."""
    texts = {
        "k.cu": '#include <cuda_runtime.h>\n#include "inner/x.cuh"\ncudaStream_t s;\n',
        "inner/x.cuh": "cudaError_t e;\n",
        "native.mu": "int cudaStream_t;\n",
        "notes.md": "cudaStream_t\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "k.cu").chmod(0o640)
    build = object.__new__(cpp_extension.BuildExtension)
    ported = {**texts, "k.cu": '#include <musa_runtime.h>\n#include "inner/x.cuh"\nmusaStream_t s;\n'}
    ported["inner/x.cuh"] = "musaError_t e;\n"
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="_port_directory is a name of torchada 0.1 and rewrites sources"):
            assert build._port_directory(str(tmp_path)) == str(tmp_path.resolve())
        found = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
        assert found == ported
    assert (tmp_path / "k.cu").stat().st_mode & 0o777 == 0o640


def test_a_folder_is_ported_with_the_callers_own_names(tmp_path: Path) -> None:
    (tmp_path / "k.ipp").write_text("OWN_CUDA_TOKEN OWN_CUDA_TOKENS cudaMalloc\n")
    build = object.__new__(cpp_extension.BuildExtension)
    with pytest.warns(DeprecationWarning, match="rewrites sources"):
        build._port_directory(str(tmp_path), {"OWN_CUDA_TOKEN": "OWN_MUSA_TOKEN"})
    assert (tmp_path / "k.ipp").read_text() == "OWN_MUSA_TOKEN OWN_CUDA_TOKENS musaMalloc\n"


def test_a_folder_with_a_linked_source_is_left_alone(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside.cuh", tmp_path / "project"
    project.mkdir()
    outside.write_text("cudaError_t e;\n")
    (project / "a.cu").write_text("cudaError_t e;\n")
    (project / "z.cuh").symlink_to(outside)
    build = object.__new__(cpp_extension.BuildExtension)
    warned = pytest.warns(DeprecationWarning, match="rewrites sources")
    with warned, pytest.raises(BuildError, match=r"z\.cuh: a symlinked CUDA/C\+\+ source"):
        build._port_directory(str(project))
    assert (project / "a.cu").read_text() == outside.read_text() == "cudaError_t e;\n"


def test_tables_of_tuned_kernels(tmp_path: Path) -> None:
    arguments: dict[str, Any] = dict.fromkeys(
        ("use_fp8_w8a8", "use_int8_w8a8", "use_int8_w8a16", "use_int4_w4a16"), False
    )
    arguments |= {
        "num_experts": 8,
        "shard_intermediate_size": 512,
        "hidden_size": 64,
        "topk": 2,
        "dtype": torch.bfloat16,
    }
    device = torch.cuda.get_device_name().replace(" ", "_")
    plain = get_config_filename(**arguments, per_channel_quant=False, block_shape=None)
    assert plain == f"E=8,N=256,device_name={device}.json"
    arguments["use_fp8_w8a8"] = True
    name = get_config_filename(**arguments, per_channel_quant=True, block_shape=[128, 128], is_gated=False)
    assert name == (f"E=8,N=512,device_name={device},dtype=fp8_w8a8,block_shape=[128, 128],per_channel_quant=True.json")
    config = dict.fromkeys(
        ("num_stages", "num_warps", "GROUP_SIZE_M", "BLOCK_SIZE_K", "BLOCK_SIZE_N", "BLOCK_SIZE_M", "x"), 1
    )
    assert list(sort_config(config))[:2] == ["BLOCK_SIZE_M", "BLOCK_SIZE_N"] and "x" not in sort_config(config)
    save_configs({64: sort_config(config)}, tmp_path / name)
    assert list(merge_configs({1: config}, tmp_path / name)) == [1, 64]
    (tmp_path / name).write_text("[]")
    with pytest.raises(ValueError, match="expected an object of batch sizes"):
        merge_configs({}, tmp_path / name)
    with override_config(config):
        assert get_config() is config
    assert get_config() is None


@pytest.mark.parametrize(
    "module",
    ["kernels.moe.kernel", "runtime.fused_moe.fused_moe", "runtime.fused_moe.router", "autotune.fused_moe.tune_moe"],
)
def test_what_was_made_for_one_chip_says_what_to_use(module: str, plain: Interpreter) -> None:
    failed = plain.run(f"import torchada.triton.{module}", check=False)
    assert failed.returncode == 1
    assert "was a part of torchada 0.1 and is not in this release; use " in failed.stderr
    plain.run(f"try:\n    import torchada.triton.{module}\nexcept ImportError:\n    pass")


def test_version_of_compares_a_version_with_a_text(plain: Interpreter) -> None:
    plain.run(
        """
        from types import SimpleNamespace
        from torchada._version import version_of
        assert version_of("2.11.0.post1+musa5.2.0") < "2.11.0.post2" and version_of("2.11.0.post1+musa5.2.0") == "2.11.0.post1"
        assert "2.9.1" > version_of("2.9.0") and version_of(version_of("2.10")) >= "2.9.9"
        for unknown in (None, "", "nonsense", SimpleNamespace(), SimpleNamespace(__version__=None)):
            assert version_of(unknown) < "0.0.1" and not version_of(unknown).is_known
        assert version_of(SimpleNamespace(__version__="2.9.1")) == "2.9.1" and len({version_of("1.0"), version_of("1.0.0")}) == 1
        """
    )


@pytest.mark.parametrize(("names", "answer"), [('{"nvidia": 0}', "False"), ('{"nvidia": 0, "mtgpu": 0}', "True")])
def test_whether_triton_compiles_for_musa(plain: Interpreter, names: str, answer: str) -> None:
    plain.run(
        f"""
        import sys, types
        sys.modules["triton"] = types.ModuleType("triton")
        sys.modules["triton.backends"] = types.SimpleNamespace(backends={names})
        from torchada.triton.musa_compat import triton_backend_is_musa
        assert triton_backend_is_musa() is {answer}
        del sys.modules["triton.backends"]
        assert triton_backend_is_musa() is False
        """
    )
