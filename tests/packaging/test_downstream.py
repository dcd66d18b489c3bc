"""The lines of other projects that touch torchada, each as it stands there, in a process of its own.

Read in November 2026: ms-swift 4.6.0, LightX2V, Mooncake 0.3.13, megatron-musa-patch, vllm-musa, SGLang 0.5.23. Extensions of
their shapes are among the projects that tests/building builds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa


def test_ms_swift_makes_the_visible_devices_final_before_torch(musa: Interpreter) -> None:
    code = """
        import importlib.util, os, sys
        assert importlib.util.find_spec('torch_musa') is not None
        assert importlib.util.find_spec('torchada') is not None
        assert 'torch' not in sys.modules
        visible_devices = os.environ.pop('CUDA_VISIBLE_DEVICES', None)
        if visible_devices is not None and 'MUSA_VISIBLE_DEVICES' not in os.environ:
            os.environ['MUSA_VISIBLE_DEVICES'] = visible_devices
        import torchada
        import torch
        assert torch.cuda.device_count() == torch.musa.device_count() == 1
        assert torch.zeros(1, device='cuda:0').device.index == 0
    """
    musa.run(code, env={"CUDA_VISIBLE_DEVICES": "1"})


def test_lightx2v_starts_a_group_by_the_name_mccl(musa: Interpreter) -> None:
    code = """
        import os, torch, torch.distributed as dist
        import torchada  # noqa: F401
        assert hasattr(torch, "musa") and torch.musa.is_available()
        dist.init_process_group(backend="mccl")
        local_rank = int(os.environ.get("LOCAL_RANK", dist.get_rank() % torch.musa.device_count()))
        torch.musa.set_device(local_rank)
        x = torch.ones(2, device="cuda")
        dist.all_reduce(x)
        assert x.tolist() == [1.0, 1.0] and torch.cuda.current_device() == local_rank
        dist.destroy_process_group()
    """
    group = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", "LOCAL_RANK": "1"}
    musa.run(code, env=group)


def test_mooncake_waits_for_others_on_its_device(musa: Interpreter) -> None:
    code = """
        import importlib, torch, torch.distributed as dist
        importlib.import_module("torchada")
        from torchada.utils.cpp_extension import BuildExtension, library_paths, load
        import torch.utils.cpp_extension as torchs
        assert BuildExtension is torchs.BuildExtension and load is torchs.load and library_paths("cuda")
        dist.init_process_group("nccl")
        dist.barrier(device_ids=[torch.cuda.current_device()])
        dist.destroy_process_group()
    """
    musa.run(code, env={"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"})


def test_megatron_musa_patch_applies_its_own_overrides_and_takes_them_back(musa: Interpreter) -> None:
    code = """
        import importlib.metadata as md
        import torch, torch_musa, torchada, warnings
        assert md.version("torchada") == torchada.__version__
        is_musa_platform = getattr(torchada, "is_musa_platform", None)
        assert callable(is_musa_platform) and is_musa_platform()
        if not torchada.is_patched():
            torchada.apply_patches()
        assert torchada.is_patched()

        missing, journal = object(), []
        def set_attr(owner, name, replacement):
            journal.append((owner, name, vars(owner).get(name, missing)))
            setattr(owner, name, replacement)
        graphs = torch.cuda.graphs
        set_attr(torch.cuda, "is_available", torch.musa.is_available)
        set_attr(torch.cuda, "CUDAGraph", torch.musa.MUSAGraph)
        set_attr(graphs, "CUDAGraph", torch.musa.MUSAGraph)
        assert torch.cuda.is_available()
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            y = torch.ones(2, device="cuda") + 1
        while journal:
            owner, name, previous = journal.pop()
            setattr(owner, name, previous) if previous is not missing else delattr(owner, name)
        assert not torch.cuda.is_available()
        torchada.disable()
        assert torch.cuda.CUDAGraph is not torch.musa.MUSAGraph
    """
    musa.run(code)


def test_vllm_musa_asks_for_the_version_and_the_headers(musa: Interpreter) -> None:
    code = """
        import torchada  # noqa: F401
        import torch
        from importlib.metadata import version
        from pathlib import Path
        from torch.utils.cpp_extension import BuildExtension, CUDAExtension
        from torchada.utils.cpp_extension import (
            stable_compat_box_header as _ta_stable_box,
            stable_compat_include_dir as _ta_stable_inc,
        )
        assert version("torchada") == torchada.__version__
        header = Path(_ta_stable_box())
        assert "define TORCH_BOX" in header.read_text() and header.parent == Path(_ta_stable_inc())
        assert (header.parent / "torch" / "headeronly" / "core" / "Dispatch.h").is_file()
        props = torch.musa.get_device_properties(0)
        assert f"mp_{props.major}{props.minor}" in ("mp_22", "mp_31")
        extension = CUDAExtension(
            name="vllm._C", sources=["a.cu", "b.mu"], include_dirs=[Path("csrc"), _ta_stable_inc()],
            extra_compile_args={"mcc": ["-O3", "-include", str(header)], "cxx": ["force_mcc"]}, py_limited_api=False,
        )
        assert set(extension.extra_compile_args) == {"mcc", "cxx"} and issubclass(BuildExtension, object)
    """
    musa.run(code)


def sglang(folder: Path, **modules: str) -> None:
    """A package of SGLang's shape: its modules by path, with two underscores for a dot."""
    for name, text in modules.items():
        path = folder.joinpath("sglang", *name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        for parent in path.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()
        path.write_text(text)


TOOLCHAIN = """
import os
def cuda_home():
    return os.environ.get("CUDA_HOME", "/usr/local/cuda")
def compilers():
    return "c++", os.path.join(cuda_home(), "bin", "nvcc")
"""


def test_sglang_compiles_its_kernels_by_our_nvcc(musa: Interpreter, tmp_path: Path) -> None:
    """Also where the environment names NVIDIA's toolkit; without us it is SGLang's own answer again."""
    sglang(tmp_path, kernels__jit__utils__compile__toolchain=TOOLCHAIN)
    code = """
        import torch, torchada
        from sglang.kernels.jit.utils.compile import toolchain
        assert toolchain.cuda_home() == torchada.CUDA_HOME
        assert toolchain.compilers()[1] == torchada.CUDA_HOME + "/bin/nvcc"
        torchada.disable()
        assert toolchain.cuda_home() == "/opt/nvidia"
    """
    musa.run(code, env={"CUDA_HOME": "/opt/nvidia", "PYTHONPATH": str(tmp_path)})


def test_sglang_rotates_by_our_function(musa: Interpreter, tmp_path: Path) -> None:
    sglang(
        tmp_path, kernels__ops__attention__rope="def apply_rope_inplace(*args, **kwargs): raise RuntimeError('PTX')\n"
    )
    code = """
        import torch, torchada
        from sglang.kernels.ops.attention import rope
        assert rope.apply_rope_inplace is torchada.apply_rope_inplace
        torchada.disable()
        assert rope.apply_rope_inplace is not torchada.apply_rope_inplace
    """
    musa.run(code, env={"PYTHONPATH": str(tmp_path)})
