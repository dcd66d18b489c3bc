"""torch.compile in CUDA code with Triton kernels, as hardware gets them: Inductor generates them, the interpreter runs them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import TORCH, Interpreter

pytestmark = [
    pytest.mark.once,
    pytest.mark.musa,
    pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed"),
]


@pytest.fixture
def triton(musa: Interpreter, tmp_path: Path, inductor_cache: Path) -> Interpreter:
    """An interpreter in which Inductor generates Triton kernels."""
    musa.env.update(
        MUSASIM_INDUCTOR="triton",
        TORCHINDUCTOR_CACHE_DIR=f"{inductor_cache}-triton",
        TRITON_CACHE_DIR=str(tmp_path / "triton"),
    )
    return musa


@pytest.mark.full
def test_the_kernels_are_tritons_and_name_the_device(triton: Interpreter) -> None:
    triton.run(
        """
        import torch
        from torch._inductor.utils import run_and_get_code

        x = torch.randn(10, 50, device="cuda")
        found, (code,) = run_and_get_code(torch.compile(lambda x: x.softmax(-1) + x.sin()), x)
        assert "@triton.jit" in code and "DeviceProperties(type='musa'" in code and "cpp_fused" not in code
        assert "= empty_strided_musa((10, 50), (50, 1), torch.float32)" in code and "empty_strided(" not in code
        torch.testing.assert_close(found, x.softmax(-1) + x.sin())
    """,
        forked=True,
    )


@pytest.mark.full
@pytest.mark.once
def test_nvidias_driver_is_not_taken_where_cuda_is_available(triton: Interpreter) -> None:
    triton.run(
        """
        import torch

        assert torch.cuda.is_available()
        assert torch.compile(lambda x: x.sin() + 1)(torch.zeros(4, device="cuda")).tolist() == [1.0] * 4
        """,
        env={"TORCHADA_FORCE_CUDA_AVAILABLE": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"},
        forked=True,
    )


@pytest.mark.once
@pytest.mark.slow
def test_reductions_products_indices_and_random_numbers(triton: Interpreter) -> None:
    triton.run(
        """
        import torch

        def agree(function, *arguments):
            torch.testing.assert_close(torch.compile(function, fullgraph=True)(*arguments), function(*arguments))

        a, b = torch.randn(32, 64, device="cuda"), torch.randn(64, 16, device="cuda")
        agree(lambda a: (a.sum(), a.mean(0), a.argmax(1), a.cumsum(1), a.var(1)), a)
        agree(lambda a, b: (a @ b).relu() * 2, a, b)
        agree(lambda table, i: table[i].sum(1), a, torch.randint(0, 32, (4, 7), device="cuda"))
        dropped = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5))(torch.ones(4000, device="cuda"))
        assert 0.45 < (dropped == 0).float().mean() < 0.55
    """,
        timeout=900,
    )


@pytest.mark.full
@pytest.mark.skipif(TORCH < (2, 9), reason="up to 2.8 torch has no registry of templates")
def test_products_by_the_templates_that_torch_has_for_cuda(triton: Interpreter) -> None:
    triton.run(
        """
        import torch, torch._inductor.utils
        from torch._inductor import config
        from torch._inductor.utils import run_and_get_code

        torch._inductor.utils.is_big_gpu = lambda *device: True  # torch tries templates on chips with 68 processors or more
        config.max_autotune, config.max_autotune_gemm_backends = True, "TRITON"
        config.test_configs.max_mm_configs = 1

        a, b, bias = (torch.randn(*shape, device="cuda") for shape in ((48, 64), (64, 32), (32,)))
        def products(a, b):
            return (a @ b).relu(), torch.addmm(bias, a, b)

        found, (code,) = run_and_get_code(torch.compile(products, fullgraph=True), a, b)
        assert code.count("def triton_tem_fused") == 2, code
        torch.testing.assert_close(found, products(a, b))
    """,
        forked=True,
    )


@pytest.mark.once
@pytest.mark.slow
def test_a_layer_of_llama_is_trained_as_in_eager_mode(triton: Interpreter) -> None:
    triton.run(
        """
        import copy, torch
        from torch import nn
        from torch.nn import functional as F

        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.norms = nn.ModuleList(nn.RMSNorm(32, eps=1e-6) for _ in range(2))
                self.qkv, self.out = nn.Linear(32, 96, bias=False), nn.Linear(32, 32, bias=False)
                self.gate, self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 32)

            def forward(self, x):
                q, k, v = self.qkv(self.norms[0](x)).view(2, 8, 3, 4, 8).permute(2, 0, 3, 1, 4)
                angle = torch.arange(8, device=x.device)[:, None] / 10 ** torch.arange(4, device=x.device)
                cos, sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
                q, k = (t * cos + torch.cat([-t[..., 4:], t[..., :4]], -1) * sin for t in (q, k))
                x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 8, 32))
                y = self.norms[1](x)
                return x + self.down(F.silu(self.gate(y)) * self.up(y))

        torch.manual_seed(0)
        eager = Layer().cuda()
        other = copy.deepcopy(eager)
        compiled = torch.compile(other, fullgraph=True)
        x = torch.randn(2, 8, 32, device="cuda")
        for model, parameters in ((eager, eager), (compiled, other)):
            optimizer = torch.optim.AdamW(parameters.parameters(), lr=1e-2)
            for _ in range(2):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
        for a, b in zip(eager.parameters(), other.parameters()):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-5)
    """,
        timeout=900,
    )


@pytest.mark.once
@pytest.mark.slow
def test_flex_attention_with_gradients(triton: Interpreter) -> None:
    triton.run(
        """
        import torch
        from torch._inductor.utils import run_and_get_code
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        q, k, v = (torch.randn(1, 2, 128, 16, device="cuda", requires_grad=True) for _ in range(3))
        mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128, device="cuda")
        found, codes = run_and_get_code(torch.compile(flex_attention), q, k, v, block_mask=mask)
        assert "triton_tem_fused" in codes[0] and "flex_attention" in codes[0], codes[0]  # up to 2.8 the name ends there
        found.sum().backward()
        grads = [each.grad.clone() for each in (q, k, v)]
        for each in (q, k, v):
            each.grad = None
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        expected.sum().backward()
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
        for mine, each in zip(grads, (q, k, v)):
            torch.testing.assert_close(mine, each.grad, rtol=1e-3, atol=1e-3)
    """,
        timeout=900,
    )
