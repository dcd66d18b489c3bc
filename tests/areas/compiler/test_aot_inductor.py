"""AOTInductor in unchanged CUDA code: export, compile, package, load, run; and the older functions that PyTorch has for it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch

from support.interpreter import Interpreter

pytestmark = [
    pytest.mark.full,
    pytest.mark.usefixtures("inductor_cache"),
    # PyTorch's own: in an import of Inductor's, in torch.export, and in the older functions.
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning"),
]


class Model(torch.nn.Module):
    """An operator with parameters, one of the CPU's kernels, a reduction, integers, two results."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv1d(4, 16, 3, padding=1)
        self.linear = torch.nn.Linear(16, 12)
        self.register_buffer("offset", torch.arange(12.0))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.convolution(x.transpose(1, 2)).transpose(1, 2)
        y = torch.nn.functional.layer_norm(self.linear(y.relu()) + self.offset, (12,)).softmax(-1)
        return y, y.argmax(-1) + torch.ones(1, dtype=torch.long, device=x.device)


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(0)
    return Model().cuda().eval()


@pytest.fixture(scope="module")
def package(model: Model, tmp_path_factory: pytest.TempPathFactory) -> str:
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(model, (torch.randn(2, 5, 4, device="cuda"),), dynamic_shapes=({0: batch},))
    path = tmp_path_factory.mktemp("packages") / "model.pt2"
    return str(torch._inductor.aoti_compile_and_package(program, package_path=str(path)))


def test_a_package_answers_as_the_model_for_each_size(model: Model, package: str) -> None:
    loaded = torch._inductor.aoti_load_package(package)
    for size in (2, 7):
        x = torch.randn(size, 5, 4, device="cuda")
        with torch.no_grad():
            torch.testing.assert_close(loaded(x), model(x))


def test_a_package_is_loaded_by_a_process_that_compiles_nothing(
    musa: Interpreter, model: Model, package: str, tmp_path: Path
) -> None:
    x = torch.randn(3, 5, 4, device="cuda")
    with torch.no_grad():
        torch.save((x, model(x)), tmp_path / "expected.pt")
    musa.run(
        f"""
        import torch
        x, expected = torch.load({str(tmp_path / "expected.pt")!r})
        loaded = torch._inductor.aoti_load_package({package!r})
        torch.testing.assert_close(loaded(x), expected)
        assert {{result.device for result in loaded(x)}} == {{torch.device("cuda", 0)}}
        assert loaded.get_metadata()["AOTI_DEVICE_KEY"] == loaded.loader.get_metadata()["AOTI_DEVICE_KEY"] == "cuda"
    """,
        forked=True,
    )


@pytest.mark.skipif(
    "device_index" not in inspect.signature(torch._inductor.aoti_load_package).parameters,
    reason="this torch loads packages on the current device alone",
)
def test_a_package_runs_on_the_device_that_is_asked_for(model: Model, package: str) -> None:
    loaded = torch._inductor.aoti_load_package(package, device_index=1)
    x = torch.randn(3, 5, 4, device="cuda:1")
    result = loaded(x)[0]
    assert result.device == torch.device("cuda", 1)
    with torch.no_grad():
        torch.testing.assert_close(result.cpu(), model(x.cuda(0))[0].cpu())


def test_a_graph_captures_what_a_package_does(model: Model, package: str) -> None:
    loaded = torch._inductor.aoti_load_package(package)
    x = torch.randn(3, 5, 4, device="cuda")
    loaded(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = loaded(x)[0]
    x.copy_(torch.randn_like(x))
    graph.replay()
    with torch.no_grad():
        torch.testing.assert_close(result, model(x)[0])


def test_a_profile_shows_the_kernels_of_a_package(package: str) -> None:
    loaded = torch._inductor.aoti_load_package(package)
    x = torch.randn(3, 5, 4, device="cuda")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        loaded(x)
    assert any(event.name.startswith("cpp_fused") for event in profile.events())


def test_parameters_are_exchanged(model: Model, package: str) -> None:
    loaded = torch._inductor.aoti_load_package(package)
    other = Model().cuda()
    x = torch.randn(3, 5, 4, device="cuda")
    loaded.load_constants(dict(other.state_dict()), check_full_update=True)
    with torch.no_grad():
        torch.testing.assert_close(loaded(x), other(x))


@pytest.mark.filterwarnings("ignore:.*aot_load:")
def test_a_library_is_loaded_by_cudas_name(tmp_path: Path) -> None:
    """PyTorch's older way."""

    class Sum(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 2).sum(-1)

    x = torch.randn(3, 4, device="cuda")
    program = torch.export.export(Sum(), (x,))
    library = torch._inductor.aot_compile(
        program.module(), (x,), options={"aot_inductor.output_path": str(tmp_path / "sum.so")}
    )
    from torch._export import aot_load

    for device in ("cuda", "cuda:0"):
        torch.testing.assert_close(aot_load(library, device)(x), (x * 2).sum(-1))


def test_a_wrapper_in_cpp_gives_the_same_answers(musa: Interpreter) -> None:
    """In a process of its own, which no package has prepared, and with graphs."""
    musa.run(
        """
        import torch
        def step(x, scale):
            return (torch.nn.functional.gelu(x @ x.t()) * scale).sum(0)
        x = torch.randn(5, 5, device="cuda")
        for options in ({}, {"triton.cudagraphs": True}):
            torch._dynamo.reset()
            compiled = torch.compile(step, options={"cpp_wrapper": True, **options}, fullgraph=True)
            for _ in range(4):
                torch.testing.assert_close(compiled(x, 2.0), step(x, 2.0))
    """,
        forked=True,
    )
