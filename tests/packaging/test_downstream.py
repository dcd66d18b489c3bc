"""The lines of other projects that touch torchada, each as it stands there, in a process of its own.

Read in November 2026: ms-swift 4.6.0, LightX2V (f8aee98b), Mooncake (3b5a5941), megatron-musa-patch (1d95a5b6), vllm-musa,
SGLang 0.5.23. Extensions of their shapes are among the projects that tests/building builds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]
ALONE = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}


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


@pytest.mark.full
def test_ms_swift_gives_each_rank_its_device(musa: Interpreter) -> None:
    """SWIFT_SINGLE_DEVICE_MODE: the rank sees one device, which is its first."""
    code = """
        import os
        env_key = 'MUSA_VISIBLE_DEVICES' if 'MUSA_VISIBLE_DEVICES' in os.environ else 'CUDA_VISIBLE_DEVICES'
        visible_devices = os.environ[env_key].split(',')
        os.environ[env_key] = str(visible_devices[int(os.environ['LOCAL_RANK'])])
        os.environ['LOCAL_RANK'] = '0'
        import torchada
        import torch
        assert os.environ['CUDA_VISIBLE_DEVICES'] == os.environ['MUSA_VISIBLE_DEVICES'] == '3'
        assert torch.cuda.device_count() == torch.musa.device_count() == 1
        torch.musa.set_device(0)
        assert torch.zeros(1, device=f"musa:{os.environ['LOCAL_RANK']}").device == torch.device('cuda:0')
    """
    env = {"MUSASIM_DEVICE_COUNT": "4", "LOCAL_RANK": "1"}
    for name in ("CUDA_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES"):
        musa.run(code, env={**env, name: "2,3"})


def test_ms_swift_asks_the_module_of_musa(musa: Interpreter) -> None:
    """What its trainers and callbacks call: random states, memory, and streams for activations that are kept on the CPU."""
    code = """
        import torch
        import torchada  # noqa: F401
        rng_states = {'musa': torch.musa.get_rng_state_all()}
        drawn = torch.rand(3, device='cuda')
        torch.musa.set_rng_state_all(rng_states['musa'])
        assert torch.equal(drawn, torch.rand(3, device='cuda'))
        module = getattr(torch, 'musa')
        stream, here = module.Stream(), torch.ones(4, device='musa')
        stream.wait_stream(module.current_stream())
        with module.stream(stream):
            away = torch.empty(4, device='cpu', pin_memory=True).copy_(here, non_blocking=True)
            here.record_stream(stream)
        module.current_stream().wait_stream(stream)
        module.synchronize()
        assert away.tolist() == [1.0] * 4
        module.empty_cache(), module.ipc_collect(), module.reset_peak_memory_stats()
        assert module.is_bf16_supported() and module.max_memory_reserved() >= 0
    """
    musa.run(code, forked=True)


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
    musa.run(code, env={**ALONE, "LOCAL_RANK": "1"}, forked=True)


def test_lightx2v_takes_this_version(musa: Interpreter) -> None:
    """Its pyproject.toml asks for torchada>=0.1.10."""
    code = """
        from importlib.metadata import version
        from packaging.requirements import Requirement
        assert version("torchada") in Requirement("torchada>=0.1.10").specifier
    """
    musa.run(code)


def test_lightx2v_waits_and_shares_tasks(musa: Interpreter) -> None:
    """As its class for NVIDIA starts the group, and as its server uses one, with a second group on the CPU."""
    code = """
        from datetime import timedelta
        import torch, torch.distributed as dist
        import torchada  # noqa: F401
        from torch.distributed import ProcessGroupNCCL
        pg_options = ProcessGroupNCCL.Options()
        pg_options.is_high_priority_stream = True
        dist.init_process_group(backend="nccl", pg_options=pg_options)
        torch.cuda.set_device(dist.get_rank())
        assert dist.get_backend() == "nccl"
        dist.barrier(device_ids=[torch.cuda.current_device()])
        task_pg = dist.new_group(backend="gloo", timeout=timedelta(days=30))
        tasks = [{"prompt": "a house"}]
        dist.broadcast_object_list(tasks, src=0, group=task_pg)
        assert tasks == [{"prompt": "a house"}]
        dist.destroy_process_group()
    """
    musa.run(code, env=ALONE)


@pytest.mark.full
def test_lightx2v_multiplies_in_eight_bits(musa: Interpreter) -> None:
    """Its operator for MUSA: a scale for each token, and one for each channel."""
    code = """
        import torch
        import torchada  # noqa: F401
        torch.manual_seed(0)
        most = torch.finfo(torch.float8_e4m3fn).max
        def quantized(x):
            scale = x.abs().float().amax(dim=-1, keepdim=True).clamp_min(1e-12) / most
            return (x.float() / scale).clamp(-most, most).to(torch.float8_e4m3fn), scale
        x, weight = torch.randn(5, 32).to("musa"), torch.randn(16, 32).to("musa")
        (a, scale_a), (b, scale_b) = quantized(x), quantized(weight)
        assert a.device.type == "musa"
        out = torch._scaled_mm(
            a, b.t(), scale_a=scale_a.reshape(5, 1), scale_b=scale_b.reshape(1, 16), out_dtype=torch.bfloat16, use_fast_accum=True
        )
        wanted = (a.float() * scale_a) @ (b.float() * scale_b).t()
        torch.testing.assert_close(out.float(), wanted, rtol=1e-2, atol=1e-2)
    """
    musa.run(code, forked=True)


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
    musa.run(code, env=ALONE, forked=True)


@pytest.mark.full
@pytest.mark.parametrize("registered", ["cuda", "musa"])
def test_mooncake_brings_a_backend_of_its_own(musa: Interpreter, registered: str) -> None:
    """It registers "mooncake" for CUDA or for MUSA, according to how it was built; both serve the tensors of this device."""
    code = f"""
        import torch, torch.distributed as dist

        class Done(dist._Work):
            def wait(self, timeout=None):
                return True

        class Mooncake(dist.ProcessGroup):
            def getBackendName(self):
                return "mooncake"
            def allreduce(self, tensors, opts=None):
                tensors[0].add_(2)
                return Done()

        def create(store, rank, size, timeout):
            return Mooncake(rank, size)

        dist.Backend.register_backend("mooncake", create, devices=("{registered}",))
        dist.init_process_group("cpu:gloo,cuda:mooncake")
        x = torch.zeros(2, device="cuda")
        dist.all_reduce(x)
        dist.all_reduce(x, group=dist.new_group([0], backend="mooncake"))
        assert x.tolist() == [4.0, 4.0]
        assert int(torch.cuda.current_stream().cuda_stream) >= 0
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        assert properties.multi_processor_count > 0
    """
    musa.run(code, env=ALONE, forked=True)


def test_mooncake_exchanges_addresses_and_defaults_to_the_device(musa: Interpreter) -> None:
    """How its buffer connects the ranks, and the default device and dtype that its tests set."""
    code = """
        import torch, torch.distributed as dist
        dist.init_process_group("nccl")
        raddr = torch.tensor([2**40 + 1], dtype=torch.int64, device="cuda")
        raddrs = [torch.empty(1, dtype=torch.int64, device="cuda")]
        dist.all_gather(raddrs, raddr, dist.group.WORLD)
        assert torch.cat(raddrs).tolist() == [2**40 + 1]
        local = list(torch.unbind(torch.arange(8, dtype=torch.int32, device="cuda").view(-1, 8)))
        remote = [torch.empty(8, dtype=torch.int32, device="cuda")]
        dist.all_to_all(remote, local, dist.group.WORLD)
        assert remote[0].tolist() == list(range(8))
        torch.set_default_device("cuda")
        torch.set_default_dtype(torch.bfloat16)
        x = torch.randn(4)
        assert x.is_cuda and x.dtype is torch.bfloat16
        dist.destroy_process_group()
    """
    musa.run(code, env=ALONE, forked=True)


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


def test_megatron_musa_patch_finds_nothing_left_to_mend(musa: Interpreter) -> None:
    """What it overrides of torch.cuda because earlier releases lacked it, asked without its overrides."""
    code = """
        import torch, torch_musa, torchada  # noqa: F401
        assert torch.zeros(3, device="musa").type() == "torch.cuda.FloatTensor"
        assert torch.zeros(3).type() == "torch.FloatTensor"
        assert torch.cuda.CUDAGraph is torch.musa.MUSAGraph

        attach, seen = torch._C._cuda_attach_out_of_memory_observer, []
        assert attach is torch_musa._MUSAC._musa_attach_out_of_memory_observer
        attach(lambda *told: seen.append(told))
        try:
            torch.empty(1 << 44, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            assert len(seen) == 1 and len(seen[0]) == 4

        products = torch.backends.musa.matmul if hasattr(torch.backends, "musa") else torch.backends.mudnn
        assert torch.get_float32_matmul_precision() == "highest" and not products.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        assert products.allow_tf32
        torch.set_float32_matmul_precision("highest")
        assert not products.allow_tf32

        class Subclass(torch.Tensor):
            pass
        moved = torch.zeros(2, 3, 4, 5).as_subclass(Subclass).cuda(non_blocking=True, memory_format=torch.channels_last)
        assert type(moved) is Subclass and moved.is_contiguous(memory_format=torch.channels_last)
        x = torch.tensor([0, 7], device="cpu", pin_memory=True)
        with torch.device("cuda"):
            moved = x.cuda(non_blocking=True)
        assert moved.is_cuda and moved.tolist() == [0, 7]

        assert torch.cuda.get_device_properties(0).name == torch.musa.get_device_name(0)
        torch.cuda.memory._record_memory_history(enabled=None)
        with torch.cuda.nvtx.range("y"):
            torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    """
    musa.run(code, forked=True)


def test_megatron_musa_patch_finds_subgroups_of_nccl(musa: Interpreter) -> None:
    """It replaces torch.distributed in two modules of Megatron, to have "nccl" translated here."""
    code = """
        import torch, torch.distributed as dist
        dist.init_process_group("nccl")
        group, groups = dist.new_subgroups_by_enumeration([[0]], backend="nccl")
        x = torch.ones(2, device="cuda")
        dist.all_reduce(x, group=group)
        assert dist.get_backend(group) == "nccl" and len(groups) == 1
    """
    musa.run(code, env=ALONE, forked=True)


@pytest.mark.full
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


@pytest.mark.full
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
    musa.run(code, env={"CUDA_HOME": "/opt/nvidia", "PYTHONPATH": str(tmp_path)}, forked=True)


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
    musa.run(code, env={"PYTHONPATH": str(tmp_path)}, forked=True)
