"""The operators of flash attention, and torch.nn.attention.varlen, which calls them: packed, dense and paged sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from support.interpreter import Interpreter
from torchada.redirect.unsupported import UnsupportedError

ATEN = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
needs_varlen = pytest.mark.skipif(
    not hasattr(ATEN, "_flash_attention_forward_no_dropout_inplace"), reason="this torch has no varlen_attn_out"
)
inf = float("inf")


class Packed(NamedTuple):
    """Sequences of these lengths, on the CPU, in half precision."""

    query_lengths: list[int]
    key_lengths: list[int]
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor

    @property
    def arguments(self) -> list[Any]:
        """The first seven of the operators."""
        longest = max(self.query_lengths), max(self.key_lengths)
        return [*on_cuda(self[2:]), offsets(self.query_lengths), offsets(self.key_lengths), *longest]


def packed(
    query_lengths: list[int],
    key_lengths: list[int],
    dtype: torch.dtype = torch.float16,
    heads: tuple[int, int] = (4, 4),
    size: int = 16,
) -> Packed:
    generator = torch.Generator().manual_seed(0)
    shapes = [(sum(query_lengths), heads[0], size), *[(sum(key_lengths), heads[1], size)] * 2]
    made = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    return Packed(query_lengths, key_lengths, *made)


def offsets(lengths: list[int]) -> torch.Tensor:
    return torch.tensor([0, *lengths]).cumsum(0).int().cuda()


def on_cuda(tensors: Any) -> list[torch.Tensor]:
    return [each.cuda() for each in tensors]


def reference(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    left: int = -1,
    right: int = -1,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One sequence, (rows, heads, size), in double precision: the output and the logarithms of the sums, (heads, rows).

    Windows are those of a query's own place, where the last query's is that of the last key.
    """
    group = query.size(1) // key.size(1)
    query, key, value = query.double(), *(each.double().repeat_interleave(group, 1) for each in (key, value))
    scores = torch.einsum("qhd,khd->hqk", query, key) * (query.size(-1) ** -0.5 if scale is None else scale)
    place = torch.arange(len(query))[:, None] + len(key) - len(query)
    distance = torch.arange(len(key)) - place
    hidden = ((distance > right) & (right >= 0)) | ((distance < -left) & (left >= 0))
    scores = scores.masked_fill(hidden, -inf)
    weights = scores.softmax(-1).masked_fill(hidden.all(-1)[:, None], 0)
    sums = scores.logsumexp(-1)
    return torch.einsum("hqk,khd->qhd", weights, value), sums.masked_fill(sums == -inf, inf)


def each_alone(given: Packed, **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
    parts = zip(
        given.query.split(given.query_lengths),
        given.key.split(given.key_lengths),
        given.value.split(given.key_lengths),
        strict=True,
    )
    done = [reference(*part, **options) for part in parts]
    return torch.cat([output for output, _ in done]), torch.cat([sums for _, sums in done], 1)


def close(found: torch.Tensor, wanted: torch.Tensor, roundings: float = 4) -> None:
    tolerance = roundings * torch.finfo(found.dtype).eps
    torch.testing.assert_close(found.cpu().double(), wanted, atol=max(tolerance, 1e-5), rtol=max(tolerance, 1e-5))


def forward(arguments: list[Any], is_causal: bool = False, **options: Any) -> Any:
    return ATEN._flash_attention_forward(*arguments, 0.0, is_causal, False, **options)


def windows(left: int, right: int) -> dict[str, int]:
    return {"window_size_left": left, "window_size_right": right}


LENGTHS = [([3, 0, 5], [3, 0, 5]), ([2, 4, 1], [6, 4, 3]), ([5, 3], [2, 3]), ([3, 2], [0, 4]), ([1, 1], [4, 7])]
WINDOWS = [(-1, -1), (-1, 0), (2, 0), (0, 0), (-1, 1), (1, 1), (0, -1), (99, 99)]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (3, 1)], ids=str)
def test_packed_sequences(dtype: torch.dtype, lengths: tuple[list[int], list[int]], heads: tuple[int, int]) -> None:
    given = packed(*lengths, dtype, heads)
    output, sums, state, unused, mask = forward(given.arguments)
    wanted, wanted_sums = each_alone(given)
    close(output, wanted)
    torch.testing.assert_close(sums.cpu().double(), wanted_sums, atol=1e-5, rtol=1e-5)
    assert output.dtype == dtype and sums.dtype == torch.float32 and output.is_cuda and sums.is_cuda
    assert sums.shape == (heads[0], sum(lengths[0])) and sums.is_contiguous()
    assert [(each.dtype, each.shape, each.is_cuda) for each in (state, unused, mask)] == [
        (torch.uint64, (2,), True),
        (torch.uint64, (), True),
        (dtype, (0,), True),
    ]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_windows_are_aligned_to_the_last_key(window: tuple[int, int], lengths: tuple[list[int], list[int]]) -> None:
    given = packed(*lengths)
    output, sums, *_ = forward(given.arguments, **windows(*window))
    left, right = window
    longest = max(lengths[1])
    # As CUDA's kernel: a side that is as long as the keys is no limit, and with a left one, no right limit is that length.
    left, right = (-1 if each >= longest else each for each in window)
    wanted, wanted_sums = each_alone(given, left=left, right=longest if left >= 0 > right else right)
    close(output, wanted)
    torch.testing.assert_close(sums.cpu().double(), wanted_sums, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_causal_is_a_window_without_the_right_side(lengths: tuple[list[int], list[int]]) -> None:
    given = packed(*lengths)
    for found, wanted in zip(forward(given.arguments, True)[:2], forward(given.arguments, **windows(-1, 0))[:2]):
        assert torch.equal(found, wanted)
    close(forward(given.arguments, True)[0], each_alone(given, right=0)[0])


def test_a_query_that_sees_no_key() -> None:
    """As CUDA's kernels: zero, and +inf for the sum, which makes its weights zero in the backward pass."""
    given = packed([4, 2], [2, 0])
    output, sums, *_ = forward(given.arguments, True)
    assert output[:2].eq(0).all() and output[4:].eq(0).all() and not output[2:4].eq(0).any()
    assert sums[:, [0, 1, 4, 5]].eq(inf).all() and sums[:, 2:4].isfinite().all()


@pytest.mark.parametrize("options", [{}, {"scale": 0.3}, windows(1, 0), windows(0, 2)], ids=str)
@pytest.mark.parametrize("heads", [(4, 4), (4, 2)], ids=str)
@pytest.mark.parametrize("dtype", HALVES)
def test_gradients(dtype: torch.dtype, heads: tuple[int, int], options: dict[str, Any]) -> None:
    given = packed([3, 0, 5, 2], [4, 2, 5, 0], dtype, heads)
    arguments = given.arguments
    leaves = [each.requires_grad_() for each in arguments[:3]]
    output = forward(arguments, **options)[0]
    doubles = given._replace(**{n: getattr(given, n).double().requires_grad_() for n in ("query", "key", "value")})
    names = {"window_size_left": "left", "window_size_right": "right"}
    wanted = each_alone(doubles, **{names.get(name, name): value for name, value in options.items()})[0]
    gradient = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    output.backward(gradient.cuda())
    wanted.backward(gradient.double())
    for leaf, double in zip(leaves, doubles[2:]):
        assert leaf.grad is not None and leaf.grad.dtype == dtype and double.grad is not None
        close(leaf.grad, double.grad, 16)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("heads", [(4, 4), (6, 2)], ids=str)
def test_dense_sequences(heads: tuple[int, int], is_causal: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 5, heads[0], 8), (2, 7, heads[1], 8), (2, 7, heads[1], 8)]
    given = [torch.randn(shape, generator=generator).half() for shape in shapes]
    leaves = [each.cuda().requires_grad_() for each in given]
    output, sums, *_ = forward([*leaves, None, None, 5, 7], is_causal)
    doubles = [each.double().requires_grad_() for each in given]
    done = [reference(*part, right=0 if is_causal else -1) for part in zip(*doubles)]
    wanted = torch.stack([each[0] for each in done])
    close(output, wanted)
    assert sums.shape == (2, heads[0], 5)
    torch.testing.assert_close(sums.cpu().double(), torch.stack([each[1] for each in done]), atol=1e-5, rtol=1e-5)
    gradient = torch.randn(wanted.shape, generator=generator).half()
    output.backward(gradient.cuda())
    wanted.backward(gradient.double())
    for leaf, double in zip(leaves, doubles):
        assert leaf.grad is not None and double.grad is not None
        close(leaf.grad, double.grad, 16)


def test_what_is_saved_goes_into_the_backward_operator() -> None:
    """The sums, and not the scores, say how large the weights are."""
    given = packed([2, 3], [4, 3])
    output, sums, state, unused, _ = forward(given.arguments)
    rest = given.arguments[3:]

    def backward(sums: torch.Tensor) -> Any:
        tensors = given.arguments[:3]
        return ATEN._flash_attention_backward(output, *tensors, output, sums, *rest, 0.0, False, state, unused)

    as_they_are, halved = backward(sums), backward(sums + torch.log(torch.tensor(2.0)).item())
    torch.testing.assert_close(halved[2], as_they_are[2] / 2, atol=1e-2, rtol=1e-2)
    assert all(each.eq(0).all() for each in backward(torch.full_like(sums, inf)))


@pytest.mark.parametrize("order", [[0, 1], [1, 0]], ids=["heads first", "rows first"])
def test_results_have_the_strides_of_the_arguments(order: list[int]) -> None:
    """Compiled code relies on what the operators say without computing."""
    heads_first = torch.randn(2, 4, 5, 8).half().cuda().transpose(1, 2)  # (sequences, length, heads, size)
    both = [heads_first, heads_first.contiguous()]
    query, key = (both[place].detach().clone().requires_grad_() for place in order)
    output = forward([query, key, key.detach(), None, None, 5, 5])[0]
    assert output.stride() == query.stride() != key.stride()
    gradients = torch.autograd.grad(output.sum(), (query, key))
    assert [each.stride() for each in gradients] == [query.stride(), key.stride()]


def test_parts_of_one_projection() -> None:
    given = packed([3, 4], [3, 4])
    joined = torch.stack(on_cuda(given[2:]), 1).requires_grad_()
    query, key, value = joined.unbind(1)
    output = forward([query, key, value, *given.arguments[3:]])[0]
    assert torch.equal(output, forward(given.arguments)[0])
    output.sum().backward()
    assert joined.grad is not None and joined.grad.shape == joined.shape


def test_rows_of_no_sequence_are_zero() -> None:
    given = packed([3, 2], [3, 2])
    arguments = given.arguments
    arguments[3:5] = [offsets([2, 1])] * 2
    output, sums, *_ = forward(arguments)
    assert output[3:].eq(0).all() and sums[:, 3:].eq(inf).all() and output[:3].ne(0).all()


def test_more_keys_than_the_program_says_are_seen() -> None:
    """CUDA's kernel would compute with all of them. Lengths that are on the device cannot be asked for without waiting."""
    given = packed([2, 3], [3, 6])
    arguments = given.arguments
    arguments[6] = 4
    output, sums, *_ = forward(arguments)
    assert output[2:].isnan().all() and sums[:, 2:].isnan().all()
    close(output[:2], each_alone(given)[0][:2])


def test_large_scores_are_computed_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchada.areas.kernels import _flash_steps

    given = packed([3, 0, 5], [4, 2, 5], heads=(4, 2))
    wanted = forward(given.arguments)[:2]
    monkeypatch.setattr(_flash_steps, "_SCORES", 1)
    for found, whole in zip(forward(given.arguments)[:2], wanted):
        torch.testing.assert_close(found, whole)


# --- a cache of keys --------------------------------------------------------------------------------------------------

needs_pages = pytest.mark.skipif(
    "block_table" not in str(ATEN._flash_attention_forward.default._schema), reason="this torch has no pages of keys"
)


@pytest.mark.parametrize("is_causal", [False, True])
def test_only_the_keys_in_use_count(is_causal: bool) -> None:
    given = packed([1, 2], [4, 3])
    arguments = given.arguments
    # What is behind them may be anything.
    for tensor in arguments[1:3]:
        tensor[[2, 3, 6]] = float("nan")
    output = forward(arguments, is_causal, seqused_k=torch.tensor([2, 2], dtype=torch.int32, device="cuda"))[0]
    rows = [0, 1, 4, 5]
    used = Packed([1, 2], [2, 2], given.query, given.key[rows], given.value[rows])
    close(output, each_alone(used, right=0 if is_causal else -1)[0])


@needs_pages
@pytest.mark.parametrize("is_used", [True, False])
@pytest.mark.parametrize("heads", [(4, 4), (4, 2)], ids=str)
def test_pages_of_keys(heads: tuple[int, int], is_used: bool) -> None:
    lengths = [300, 0, 256]
    given = packed([1, 2, 3], lengths, heads=heads, size=8)
    pages = torch.full((5, 256, heads[1], 8), float("nan")).half()
    keys, values = pages, pages.clone()
    for page, rows in {3: (0, 256), 1: (256, 300), 4: (300, 556)}.items():
        keys[page, : rows[1] - rows[0]], values[page, : rows[1] - rows[0]] = (
            given.key[slice(*rows)],
            given.value[slice(*rows)],
        )
    table = torch.tensor([[3, 1], [-1, -1], [4, 2**30]], dtype=torch.int32, device="cuda")
    counts = offsets(lengths) if not is_used else offsets([512, 512, 512])
    used = {"seqused_k": torch.tensor(lengths, dtype=torch.int32, device="cuda")} if is_used else {}
    arguments = [*on_cuda([given.query, keys, values]), offsets([1, 2, 3]), counts, 3, 512]
    output, sums, *_ = forward(arguments, True, block_table=table, **used)
    wanted, wanted_sums = each_alone(given, right=0)
    close(output, wanted)
    torch.testing.assert_close(sums.cpu().double(), wanted_sums, atol=1e-5, rtol=1e-5)


# --- captures, compiled code, torch.nn.attention.varlen ---------------------------------------------------------------


def test_a_capture_is_replayed_with_other_lengths() -> None:
    first, second = packed([3, 0, 5], [5, 1, 4]), packed([1, 4, 3], [2, 5, 3])
    arguments = first.arguments[:5]
    gradient = torch.randn(8, 4, 16).half().cuda()

    def step() -> list[torch.Tensor]:
        given = [*arguments, 5, 5]
        output, sums, state, unused, _ = forward(given, True)
        rest = [output, sums, *given[3:], 0.0, True, state, unused]
        return [output, sums, *ATEN._flash_attention_backward(gradient, *given[:3], *rest)]

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for given in (first, second):
        for place, value in enumerate(given.arguments[:5]):
            arguments[place].copy_(value)
        graph.replay()
        close(captured[0], each_alone(given, right=0)[0])
        for found, wanted in zip(captured, step()):
            torch.testing.assert_close(found, wanted)


def test_without_computing() -> None:
    """torch's own functions say what comes out."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    given = packed([3, 5], [4, 5]).arguments
    real = forward(given)
    with FakeTensorMode() as mode:
        fake = forward([mode.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in given])
    for found, wanted in zip(real, fake):
        assert (found.shape, found.dtype, found.stride()) == (wanted.shape, wanted.dtype, wanted.stride())


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's own, in an import of Inductor's
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(backend: str) -> None:
    given = packed([3, 5], [3, 5])

    def step(*tensors: Any) -> torch.Tensor:
        return forward([*tensors, 5, 5], True)[0] * 2

    results = []
    for run in (step, torch.compile(step, backend=backend, fullgraph=True)):
        leaves = [each.requires_grad_() for each in given.arguments[:3]]
        output = run(*leaves, *given.arguments[3:5])
        output.float().square().sum().backward()
        results.append([output, *(each.grad for each in leaves)])
    for found, wanted in zip(*results):
        assert found is not None and wanted is not None
        torch.testing.assert_close(found, wanted)


def varlen() -> Any:
    return pytest.importorskip("torch.nn.attention.varlen", reason="this torch has no torch.nn.attention.varlen")


def has_windows() -> bool:
    return "window_size" in str(torch.ops.torch_attn._varlen_attn.default._schema)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_varlen_attn(is_compiled: bool) -> None:
    module = varlen()
    given = packed([3, 0, 5], [3, 0, 5])
    causal = {"window_size": (-1, 0)} if has_windows() else {"is_causal": True}
    run = torch.compile(module.varlen_attn, backend="aot_eager") if is_compiled else module.varlen_attn
    leaves = [each.requires_grad_() for each in given.arguments[:3]]
    output = run(*leaves, *given.arguments[3:], **causal)
    close(output, each_alone(given, right=0)[0])
    output.sum().backward()
    again = [each.requires_grad_() for each in given.arguments[:3]]
    forward([*again, *given.arguments[3:]], True)[0].sum().backward()
    for found, wanted in zip(leaves, again):
        assert found.grad is not None and wanted.grad is not None and torch.equal(found.grad, wanted.grad)


@needs_varlen
def test_varlen_attn_out() -> None:
    given = packed([3, 5], [4, 5])
    wanted = varlen().varlen_attn(*given.arguments, return_aux=varlen().AuxRequest(lse=True))
    into = torch.empty_like(given.arguments[0])
    output, sums = varlen().varlen_attn_out(into, *given.arguments, return_aux=varlen().AuxRequest(lse=True))
    assert output is into and torch.equal(output, wanted[0]) and torch.equal(sums, wanted[1])


# torch 2.15's opcheck looks at it.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_opcheck() -> None:
    module = varlen()
    given = packed([3, 5], [3, 5]).arguments
    assert module is not None
    torch.library.opcheck(torch.ops.torch_attn._varlen_attn, (*given, False))
    torch.library.opcheck(
        torch.ops.torch_attn._varlen_attn, (*[each.requires_grad_() for each in given[:3]], *given[3:])
    )


# --- what is refused --------------------------------------------------------------------------------------------------


def test_dropout_and_slopes_are_refused_by_name() -> None:
    given = packed([3, 5], [3, 5]).arguments
    with pytest.raises(UnsupportedError, match=r"dropout_p of torch\.ops\.aten\._flash_attention_forward"):
        ATEN._flash_attention_forward(*given, 0.5, False, False)
    with pytest.raises(UnsupportedError, match="alibi_slopes of"):
        forward(given, alibi_slopes=torch.ones(4, device="cuda"))
    output, sums, state, unused, _ = forward(given)
    with pytest.raises(UnsupportedError, match=r"dropout_p of torch\.ops\.aten\._flash_attention_backward"):
        ATEN._flash_attention_backward(output, *given[:3], output, sums, *given[3:], 0.5, False, state, unused)


@needs_varlen
@pytest.mark.parametrize("splits", [0, 1, 3])
def test_the_number_of_splits_changes_no_value(splits: int) -> None:
    given = packed([3, 5], [3, 5]).arguments
    if "num_splits" not in str(ATEN._flash_attention_forward.default._schema):
        pytest.skip("this torch has no num_splits")
    assert torch.equal(forward(given, num_splits=splits)[0], forward(given)[0])


def int64(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.long()


def cpu(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.cpu()


# The place of an argument, what becomes of it, and CUDA's words.
REFUSED: dict[str, tuple[int, Any, str]] = {
    "single": (0, torch.Tensor.float, "only support fp16 and bf16"),
    "types": (1, torch.Tensor.bfloat16, "query and key must have the same dtype"),
    "value": (2, torch.Tensor.bfloat16, "query and value must have the same dtype"),
    "key's device": (1, cpu, "Expected all tensors to be on the same device"),
    "query's device": (0, cpu, "Expected all tensors to be on the same device"),
    "offsets' device": (3, cpu, "Expected all tensors to be on the same device"),
    "another device": (4, lambda tensor: tensor.to("cuda:1"), "cuda:0 and cuda:1|musa:0 and musa:1"),
    "offsets": (3, int64, "cu_seqlens_q must have dtype int32"),
    "keys' offsets": (4, int64, "cu_seqlens_k must have dtype int32"),
    "number of offsets": (4, lambda tensor: tensor[:2], "cu_seqlens_k must have shape"),
    "strided offsets": (3, lambda tensor: tensor.repeat_interleave(2)[::2], "cu_seqlens_q must be contiguous"),
    "one is missing": (4, lambda tensor: None, "must be both set or both not set"),
    "dense query": (0, lambda tensor: tensor[None], "query must have 3 dimensions"),
    "size of keys": (1, lambda tensor: tensor[..., :8].contiguous(), "k must have shape"),
    "size of values": (2, lambda tensor: tensor[..., :8].contiguous(), "v must have shape"),
    "number of heads": (0, lambda tensor: tensor[:, :3].contiguous(), "must divide number of heads in query"),
    "last dimension": (0, lambda tensor: tensor.repeat(1, 1, 2)[..., ::2], "contiguous last dimension"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_arguments_are_checked_as_by_cuda(case: str) -> None:
    given = packed([3, 5], [3, 5]).arguments
    place, change, words = REFUSED[case]
    given[place] = change(given[place])
    with pytest.raises(RuntimeError, match=words):
        forward(given)


@pytest.mark.parametrize(("size", "words"), [(12, "multiple of 8"), (264, "at most 256")])
def test_sizes_of_heads(size: int, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        forward(packed([2], [2], size=size).arguments)


def test_other_refusals() -> None:
    given = packed([3, 5], [3, 5]).arguments
    with pytest.raises(RuntimeError, match=r"p_dropout > 0\.0"):
        ATEN._flash_attention_forward(*given, 0.0, False, True)
    with pytest.raises(RuntimeError, match="seqused_k must have dtype int32"):
        forward(given, seqused_k=torch.tensor([1, 2], device="cuda"))
    with pytest.raises(RuntimeError, match="batch size must be positive"):
        forward([*given[:3], offsets([]), offsets([]), 0, 0])
    output, sums, state, unused, _ = forward(given)
    with pytest.raises(RuntimeError, match="query and dout must have the same dtype"):
        ATEN._flash_attention_backward(output.float(), *given[:3], output, sums, *given[3:], 0.0, False, state, unused)


@needs_pages
def test_pages_are_checked() -> None:
    given = packed([3, 5], [3, 5]).arguments
    table = torch.zeros(2, 1, dtype=torch.int32, device="cuda")
    pages = torch.zeros(3, 256, 4, 16, dtype=torch.float16, device="cuda")
    for key, wrong, words in (
        (given[1], table, "key must have 4 dimensions"),
        (pages[:, :128].contiguous(), table, "divisible by 256"),
        (pages, table.long(), "torch.int32"),
        (pages, table[:1], "block_table must have shape"),
    ):
        with pytest.raises(RuntimeError, match=words):
            forward([given[0], key, key, *given[3:]], block_table=wrong)


@needs_varlen
def test_outputs_are_checked() -> None:
    given = packed([3, 5], [3, 5]).arguments
    for out, words in (
        (given[0].float(), "query and out must have the same dtype"),
        (given[0][:4], "out must have shape"),
        (given[0].cpu(), "same device"),
        (given[0].repeat(1, 1, 2)[..., ::2], "contiguous last dimension"),
    ):
        with pytest.raises(RuntimeError, match=words):
            ATEN._flash_attention_forward_no_dropout_inplace(out, *given, 0.0, False, False)


def test_other_devices_are_left_alone() -> None:
    tensor, lengths = torch.ones(2, 1, 8).half(), torch.tensor([0, 2], dtype=torch.int32)
    with pytest.raises(NotImplementedError, match="CPU"):
        forward([tensor, tensor, tensor, lengths, lengths, 2, 2])


@pytest.mark.once
def test_it_can_be_undone(musa: Interpreter) -> None:
    code = """
    import torch, torchada
    x, lengths = torch.ones(2, 1, 8).half().cuda(), torch.tensor([0, 2], dtype=torch.int32).cuda()
    def attend():
        rest = (2, 2, 0.0, False, False)
        whole = dict(window_size_left=-1, window_size_right=-1)
        return torch.ops.aten._flash_attention_forward(x, x, x, lengths, lengths, *rest, **whole)[0]
    for _ in range(2):
        assert attend().eq(1).all()
        torchada.disable()
        try:
            attend()
        except RuntimeError as error:
            print(error)
        torchada.enable()
    assert attend().eq(1).all()
    """
    refused = "_flash_attention_forward doesn't support window_size_left for MUSA backend\n"
    assert musa.run(code, forked=True).stdout == refused * 2


# --- a backend with kernels of its own --------------------------------------------------------------------------------

PROGRAM = """
import json, sys
import torch

calls = []
kind = sys.argv[1]

def right(query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, mask, *, scale=None, **options):
    calls.append(sorted(options))
    if kind == "vendor" and options:
        raise RuntimeError("_flash_attention_forward doesn't support window_size_left for MUSA backend")
    if "seqused_k" in options:
        raise RuntimeError("not supported")
    outputs, sums = [], []
    for q, k, v in zip(*(parts(t, o) for t, o in ((query, cum_seq_q), (key, cum_seq_k), (value, cum_seq_k)))):
        scores = torch.einsum("qhd,khd->hqk", q.float(), k.float().repeat_interleave(q.size(1) // k.size(1), 1)) * scale
        if is_causal:
            scores.masked_fill_(~torch.ones_like(scores, dtype=torch.bool).tril(len(k) - len(q)), -float("inf"))
        outputs.append(torch.einsum("hqk,khd->qhd", scores.softmax(-1), v.float().repeat_interleave(q.size(1) // k.size(1), 1)))
        sums.append(scores.logsumexp(-1))
    if kind == "wrong":
        sums = [each + 1 for each in sums]
    empty = query.new_empty(0)
    return torch.cat(outputs).to(query.dtype), torch.cat(sums, 1), empty, empty, empty

def parts(tensor, offsets):
    return tensor.split(offsets.diff().tolist())

library = torch.library.Library("aten", "IMPL")
library.impl("_flash_attention_forward", right, "PrivateUse1")

x = torch.ones(3, 2, 8, device="cuda", dtype=torch.float16)
lengths, used = (torch.tensor(each, device="cuda", dtype=torch.int32) for each in ([0, 1, 3], [1, 1]))

def attend(**options):
    before = len(calls)
    x_ = torch.ops.aten._flash_attention_forward(x, x, x, lengths, lengths, 2, 2, 0.0, False, False, scale=1.0, **options)[0]
    assert x_.eq(1).all()
    return len(calls) - before

print(json.dumps([attend(), attend(), attend(seqused_k=used), attend(seqused_k=used)]))
"""


@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize(
    ("kind", "calls"), [("right", [2, 1, 1, 0]), ("wrong", [1, 0, 1, 0]), ("vendor", [1, 0, 1, 0])]
)
def test_a_backends_kernel_is_used_for_what_it_is_right_for(
    musa: Interpreter, tmp_path: Path, kind: str, calls: list[int]
) -> None:
    """`vendor`: as torch_musa 2.7.1's, which refuses any window."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert musa.json([str(program), kind], env={"TORCHADA_CACHE_DIR": str(tmp_path / "cache")}) == calls
