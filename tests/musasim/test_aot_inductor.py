"""AOTInductor in programs for MUSA, without torchada: the class that torch_musa has for a library, and what a library calls."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from support.fresh_process import run

pytestmark = pytest.mark.once


def test_each_operator_that_a_library_may_call_has_a_function(torch_musa: Any) -> None:
    """Those of PyTorch's header for CUDA, with the same parameters under the device's name."""
    from torch_musa._inductor import shims

    from musasim.base.toolchain import find_torch

    header = (find_torch().folder / "include/torch/csrc/inductor/aoti_torch/generated/c_shim_cuda.h").read_text()
    declared = re.findall(r"AOTITorchError aoti_torch_cuda_(\w+\(.*\));", header)
    defined = re.findall(r"AOTITorchError aoti_torch_musa_(\w+\(.*\)) \{", shims._source())
    assert len(declared) > 100 and defined == declared


@pytest.mark.slow
def test_a_library_runs_by_the_class_of_torch_musa(inductor_cache: Path, tmp_path: Path) -> None:
    code = f"""
        import torch, torch_musa
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.full((3, 3), 2.0))
            def forward(self, x):
                return torch.mm(x, self.weight).relu() - 1
        model, x = Model().musa(), torch.eye(3, device="musa")
        program = torch.export.export(model, (x,))
        library = torch._inductor.aot_compile(
            program.module(), (x,), options={{"aot_inductor.output_path": {str(tmp_path / "model.so")!r}}})
        runner = torch_musa._MUSAC._aoti.AOTIModelContainerRunnerMusa(library, 1, "musa:0")
        assert runner.run([x])[0].tolist() == [[1.0] * 3] * 3 and len(runner.get_call_spec()) == 2
        name, = runner.get_constant_names_to_original_fqns()
        assert runner.get_constant_names_to_original_fqns()[name] == "weight"
        runner.update_constant_buffer({{name: torch.full((3, 3), 5.0, device="musa")}}, False, True)
        assert runner.run([x])[0].tolist() == [[4.0] * 3] * 3
        before = torch.musa.memory_allocated()
        for _ in range(3):
            runner.run([x])
        assert torch.musa.memory_allocated() == before

        from torch_musa._export import aot_load
        assert aot_load(library, "musa")(x).tolist() == [[1.0] * 3] * 3
        try:
            aot_load(library, "xpu")
        except RuntimeError as error:
            assert "Unsupported device xpu" in str(error)
        else:
            raise SystemExit("an unknown device was taken")

        # Kernels are work of the device, which a graph captures.
        graph = torch.musa.MUSAGraph()
        with torch.musa.graph(graph):
            result, = runner.run([x])
        x.mul_(2)
        graph.replay()
        assert result.tolist() == [[9.0] * 3] * 3
    """
    run(code, TORCHINDUCTOR_CACHE_DIR=str(inductor_cache))


@pytest.mark.slow
def test_a_package_is_loaded_by_the_function_of_torch_musa(inductor_cache: Path, tmp_path: Path) -> None:
    code = f"""
        import torch, torch_musa
        from torch_musa._inductor.package import load_package
        assert torch._inductor.package.package.load_package is load_package

        class Model(torch.nn.Module):
            def forward(self, x, y):
                return torch.mm(x, y) + 1
        x, y = torch.eye(3, device="musa"), torch.full((3, 3), 4.0, device="musa")
        program = torch.export.export(Model(), (x, y))
        with torch._inductor.config.patch({{"aot_inductor.package": True}}):
            files = torch._inductor.aot_compile(program.module(), (x, y))
        assert isinstance(files, list)
        assert load_package(files, "musa")(x, y).tolist() == [[5.0] * 3] * 3

        package = torch._inductor.package.package_aoti({str(tmp_path / "model.pt2")!r}, {{"model": files}})
        assert load_package(package, "musa")(x, y).tolist() == [[5.0] * 3] * 3
        result = load_package(package, "musa:1")(x.to("musa:1"), y.to("musa:1"))
        assert result.device.index == 1 and result.tolist() == [[5.0] * 3] * 3

        for path, device, text in (
            (files, "xpu", "Unsupported device xpu"),
            (package, "xpu", "Unsupported device xpu"),
            ([], "musa", "Unable to find file with suffix .so"),
            ("model.so", "musa", "Unable to load .so"),
        ):
            try:
                load_package(path, device)
            except RuntimeError as error:
                assert text in str(error), error
            else:
                raise SystemExit(f"{{path}} was taken for {{device}}")
    """
    run(code, TORCHINDUCTOR_CACHE_DIR=str(inductor_cache))
