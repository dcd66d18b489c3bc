"""isfinite, log_ and multinomial: right in captures too, by the device's own kernels or by others."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from support.interpreter import Interpreter

SPECIAL = [0.0, 1.5, float("inf"), -float("inf"), float("nan"), 6e4]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64])
def test_isfinite(dtype: torch.dtype) -> None:
    values = torch.tensor(SPECIAL).to(dtype)
    assert torch.equal(torch.isfinite(values.cuda()).cpu(), torch.isfinite(values))
    assert torch.isfinite(torch.arange(3, device="cuda")).all()


def test_isfinite_of_what_requires_a_gradient() -> None:
    values = torch.tensor(SPECIAL, device="cuda", requires_grad=True)
    assert torch.isfinite(values).tolist() == [True, True, False, False, False, True]
    compiled = torch.compile(lambda x: torch.where(torch.isfinite(x), x, 0.0).sum(), backend="aot_eager")
    compiled(values).backward()
    assert values.grad is not None and values.grad.tolist() == [1, 1, 0, 0, 0, 1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_in_place(dtype: torch.dtype) -> None:
    values = torch.tensor([1.0, 2.0, 1e-3], dtype=dtype, device="cuda", requires_grad=True)
    again = values * 1
    assert again.log_() is again
    torch.testing.assert_close(again.cpu(), values.cpu().log())
    again.sum().backward()
    assert values.grad is not None
    torch.testing.assert_close(values.grad.cpu(), 1 / values.detach().cpu())


def test_captured() -> None:
    weights = torch.tensor([[0.0, 0.0, 3.0], [0.5, 0.0, 0.0]], device="cuda")
    many, values = torch.rand(512, device="cuda"), torch.rand(512, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        one, several = torch.multinomial(weights, 1), torch.multinomial(weights, 7, replacement=True)
        fresh, distinct = torch.multinomial(many, 64, replacement=True), torch.multinomial(many, 512)
        finite = torch.isfinite(values)
    graph.replay()
    assert one.tolist() == [[2], [0]] and several.tolist() == [[2] * 7, [0] * 7]
    assert distinct.sort().values.tolist() == list(range(512))
    first = fresh.clone(), distinct.clone()
    weights.copy_(weights.roll(1, 0))
    values[3] = float("inf")
    graph.replay()
    assert one.tolist() == [[0], [2]] and several.tolist() == [[0] * 7, [2] * 7]
    assert not torch.equal(first[0], fresh) and not torch.equal(first[1], distinct)
    assert finite.sum() == 511 and not finite[3]


@pytest.mark.parametrize("with_replacement", [False, True])
def test_captured_draws_follow_the_weights(with_replacement: bool) -> None:
    weights = torch.tensor([1.0, 0.0, 2.0, 5.0], device="cuda").repeat(20_000, 1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        drawn = torch.multinomial(weights, 2, replacement=with_replacement)
    torch.manual_seed(0)
    graph.replay()
    counts = drawn.flatten().bincount(minlength=4).cpu() / drawn.numel()
    # Without replacement, the second is drawn from what is left: 1/8 + 2/8 * 1/6 + 5/8 * 1/3 for the first category, halved.
    second = torch.tensor([1 / 8 * 0 + 2 / 8 * 1 / 6 + 5 / 8 * 1 / 3, 0, 1 / 8 * 2 / 7 + 5 / 8 * 2 / 3, 0])
    second[3] = 1 - second.sum()
    shares = torch.tensor([1.0, 0.0, 2.0, 5.0]) / 8
    want = shares if with_replacement else (shares + second) / 2
    torch.testing.assert_close(counts, want, atol=0.01, rtol=0)
    assert counts[1] == 0


def test_captured_draws_with_replacement_are_those_of_the_devices_kernel() -> None:
    weights = torch.rand(64, device="cuda")
    torch.multinomial(weights, 8, replacement=True)  # probed
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        drawn = torch.multinomial(weights, 8, replacement=True)
    torch.cuda.manual_seed(5)
    graph.replay()
    torch.cuda.manual_seed(5)
    assert torch.equal(torch.multinomial(weights, 8, replacement=True), drawn)


def test_captured_with_out_and_words_of_errors() -> None:
    weights = torch.tensor([0.0, 1.0, 0.0], device="cuda")
    out = torch.empty(0, dtype=torch.int64, device="cuda")
    torch.multinomial(weights, 1, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.multinomial(weights, 1, out=out)
    out.zero_()
    graph.replay()
    assert out.tolist() == [1]
    with pytest.raises(RuntimeError, match="without replacement"):
        torch.multinomial(weights, 4)
    with pytest.raises(RuntimeError, match="prob_dist must be 1 or 2 dim"):
        torch.multinomial(weights[None, None], 1)


def test_outside_of_captures_probabilities_are_checked() -> None:
    with pytest.raises(RuntimeError, match="probability tensor contains"):
        torch.multinomial(torch.tensor([-1.0, 2.0], device="cuda"), 1)


@pytest.mark.full
def test_a_probe_leaves_the_random_numbers(musa: Interpreter, tmp_path: Path) -> None:
    program = (
        "import sys, torch; torch.cuda.manual_seed(5); sys.argv[1:] and torch.multinomial(torch.ones(9).cuda(), 2, True);"
        "print(torch.rand(3, device='cuda').tolist())"
    )
    env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    first, second, without = (
        musa.run([*("-c", program), *given], env=env).stdout.strip() for given in (["draw"], ["draw"], [])
    )
    assert first == second != without


PROGRAM = """
import json, sys
import torch
from torchada.control import status

calls = []

def vendors(self):
    calls.append(self.dtype)
    if sys.argv[1] == "wrong":
        return self.zero_()
    values = torch.log(self.float()).to(self.dtype) if self.dtype == torch.double else torch.log(self)
    if sys.argv[1] == "waits":
        values.sum().item()
    return self.copy_(values)

library = torch.library.Library("aten", "IMPL")
library.impl("log_", vendors, "PrivateUse1")

def state():
    return [each["for"] for each in status.workarounds() if each["for"].startswith("torch.log_:")][0]

before = state()
x = torch.full((2,), 2.0, device="cuda")
x.log_()
own = len(calls)
print(json.dumps({"before": before, "after": state(), "values": x.tolist(), "calls": len(calls)}))
"""


@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize("kind", ["right", "wrong", "waits"])
def test_a_kernel_that_is_wrong_or_makes_the_host_wait_is_replaced(
    musa: Interpreter, tmp_path: Path, kind: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {"TORCHADA_CACHE_DIR": str(tmp_path / "cache")}
    first = musa.json([str(program), kind], env=env)
    second = musa.json([str(program), kind], env=env)
    assert first["before"].endswith("is probed at the first call")
    assert first["values"] == second["values"] == pytest.approx([0.6931472] * 2)
    assert first["after"] == second["before"]
    verdict = "is right, and used" if kind == "right" else "is missing or wrong, and replaced"
    assert second["before"].endswith(verdict)
    assert second["calls"] == (kind == "right")


@pytest.mark.once
def test_undone_exactly(musa: Interpreter) -> None:
    musa.run(
        """
        import torch, torchada
        tables = lambda: [torch._C._dispatch_dump_table(f"aten::{name}") for name in ("isfinite", "log_", "multinomial")]
        before = tables()
        torch.zeros(1, device="cuda")
        assert before[2] != tables()[2], "those whose kernels are known to be right have no gate"
        torchada.disable()
        assert before == tables()
        """,
        forked=True,
    )


def test_a_given_generator_decides_what_is_drawn() -> None:
    weights = torch.ones(16, 64, device="cuda")
    out = torch.empty(0, dtype=torch.int64, device="cuda")
    state = torch.cuda.get_rng_state()
    draws = [torch.multinomial(weights, 1, generator=torch.Generator("cuda").manual_seed(3)) for _ in range(2)]
    torch.multinomial(weights, 1, generator=torch.Generator("cuda").manual_seed(3), out=out)
    other = torch.multinomial(weights, 1, generator=torch.Generator("cuda").manual_seed(4))
    assert torch.equal(*draws) and torch.equal(draws[0], out) and not torch.equal(draws[0], other)
    assert torch.equal(torch.cuda.get_rng_state(), state)


@pytest.mark.full
def test_the_backends_own_draw_is_used_where_it_follows_the_generator(musa: Interpreter) -> None:
    """torch_musa 2.11.0's does. Behind a gate in C++, the call came back to the gate for ever."""
    code = """
    import torch
    from torchada.areas.kernels._verdicts import Verdicts
    known = Verdicts.known
    Verdicts.known = lambda self, name: name == "multinomial, with a generator" or known(self, name)
    weights = torch.ones(16, 64, device="cuda")
    assert torch.multinomial(weights, 1, generator=torch.Generator("cuda").manual_seed(3)).shape == (16, 1)
    """
    musa.run(code, env={"TORCHADA_CPP_GATES": "1"}, forked=True)
