"""The same seed gives the random numbers that an NVIDIA GPU draws: Philox4x32-10, one thread for an element, as far as there are.

The expected values are computed here from the published algorithm, and those of torch.randn and torch.rand are CUDA's.
"""

from __future__ import annotations

import math

import pytest
import torch

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]
DEVICE = 56 * 2048  # the threads of the simulated device
UNIT = 2.0**-32


def philox(thread: int, call: int = 0, seed: int = 0) -> list[int]:
    """The four words of a thread's call (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3")."""
    low = (1 << 32) - 1
    counter, key = [call & low, call >> 32, thread & low, thread >> 32], [seed & low, seed >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & low, first >> 32 ^ counter[3] ^ key[1], first & low]
        key = [(key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low]
    return counter


def uniform(word: int) -> float:
    return word * UNIT + UNIT / 2


def normal_pair(first: int, second: int) -> list[float]:
    radius, angle = math.sqrt(-2 * math.log(uniform(first))), 2 * math.pi * uniform(second)
    return [radius * math.sin(angle), radius * math.cos(angle)]


def wide(words: list[int]) -> list[float]:
    pairs = zip(words[::2], words[1::2])
    return [((low ^ high << 21) * 2.0**-53) + 2.0**-54 for low, high in pairs]


def seeded(seed: int = 0) -> None:
    torch.cuda.manual_seed(seed)


def test_what_cuda_gives_for_seed_0() -> None:
    """Published: torch.cuda.manual_seed(0), then four numbers, on any NVIDIA GPU."""
    seeded()
    torch.testing.assert_close(
        torch.randn(4, device="cuda").cpu(), torch.tensor([-0.9247, -0.4253, -2.6438, 0.1452]), atol=5e-5, rtol=0
    )
    seeded()
    torch.testing.assert_close(
        torch.rand(4, device="cuda").cpu(), torch.tensor([0.3990, 0.5167, 0.0249, 0.9401]), atol=5e-5, rtol=0
    )


def test_the_next_draw_goes_on_where_the_last_one_stopped() -> None:
    seeded(7)
    torch.rand(3, device="cuda")
    second = torch.rand(3, device="cuda")
    torch.testing.assert_close(
        second.cpu(), torch.tensor([uniform(philox(thread, 1, seed=7)[0]) for thread in range(3)])
    )
    assert torch.cuda.default_generators[0].get_offset() == 8


def test_a_thread_makes_four_numbers_where_there_are_more_elements_than_threads() -> None:
    seeded()
    drawn = torch.rand(5 * DEVICE, device="cuda").cpu()
    for element in (0, 1, DEVICE, DEVICE + 5, 3 * DEVICE + 1, 4 * DEVICE + 2):
        turn, thread = divmod(element, DEVICE)
        assert drawn[element].item() == pytest.approx(uniform(philox(thread, turn // 4)[turn % 4]), rel=1e-6)
    assert torch.cuda.default_generators[0].get_offset() == 8


def test_normal_numbers_of_a_thread_come_in_pairs() -> None:
    seeded()
    drawn = torch.randn(4 * DEVICE, device="cuda").cpu()
    words = philox(5)
    expected = normal_pair(*words[:2]) + normal_pair(*words[2:])
    torch.testing.assert_close(drawn[5::DEVICE], torch.tensor(expected), atol=1e-6, rtol=1e-5)


def test_double_precision_takes_two_words() -> None:
    seeded()
    drawn = torch.rand(3, device="cuda", dtype=torch.float64)
    expected = torch.tensor([wide(philox(thread))[0] for thread in range(3)], dtype=torch.float64)
    torch.testing.assert_close(drawn.cpu(), expected)
    seeded()
    first, second = wide(philox(0))
    expected = math.sqrt(-2 * math.log(first)) * math.sin(2 * math.pi * second)
    assert torch.randn(1, device="cuda", dtype=torch.float64).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_rounded_single_numbers(dtype: torch.dtype) -> None:
    seeded()
    half = torch.randn(4, device="cuda", dtype=dtype)
    seeded()
    assert torch.equal(half, torch.randn(4, device="cuda").to(dtype))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float32])
def test_whole_numbers_are_remainders(dtype: torch.dtype) -> None:
    seeded()
    drawn = torch.randint(3, 13, (8,), device="cuda", dtype=dtype)
    assert drawn.tolist() == [philox(thread)[0] % 10 + 3 for thread in range(8)]


def test_whole_numbers_of_a_large_range_take_two_words() -> None:
    seeded()
    drawn = torch.randint(0, 1 << 40, (3,), device="cuda")
    assert drawn.tolist() == [(w[0] << 32 | w[1]) % (1 << 40) for w in (philox(thread) for thread in range(3))]


def test_elements_are_numbered_as_they_lie_in_memory() -> None:
    seeded()
    rows = torch.rand(6, device="cuda").cpu()
    for make in (lambda: torch.empty(2, 3, device="cuda").t(), lambda: torch.empty(4, 3, device="cuda")[::2].t()):
        seeded()
        assert torch.equal(make().uniform_().t().reshape(-1).cpu(), rows)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_uniform_fills_complex_numbers_part_by_part(dtype: torch.dtype) -> None:
    """As PyTorch does for CUDA: it draws for the tensor seen as one of real numbers."""
    torch.musa.manual_seed(3)
    drawn = torch.empty(5, dtype=dtype, device="musa").uniform_(-1, 2)
    torch.musa.manual_seed(3)
    parts = torch.empty(5, 2, dtype=drawn.real.dtype, device="musa").uniform_(-1, 2)
    assert torch.equal(torch.view_as_real(drawn).cpu(), parts.cpu())


def test_exponential_and_bernoulli_are_made_of_uniform_numbers() -> None:
    numbers = torch.tensor([uniform(philox(thread)[0]) for thread in range(6)])
    seeded()
    torch.testing.assert_close(torch.empty(6, device="cuda").exponential_(2).cpu(), -numbers.log() / 2)
    seeded()
    assert torch.equal(torch.empty(6, device="cuda").bernoulli_(0.4).cpu(), (numbers < 0.4).float())
    seeded()
    of_four = torch.tensor([uniform(philox(i // 4)[i % 4]) for i in range(6)])
    assert torch.equal(torch.bernoulli(torch.full((6,), 0.4, device="cuda")).cpu(), (of_four <= 0.4).float())
    assert torch.cuda.default_generators[0].get_offset() == 12


def test_normal_of_tensors_scales_the_same_numbers() -> None:
    mean, deviation = torch.tensor([1.0, 2, 3], device="cuda"), torch.tensor([0.5, 1, 2], device="cuda")
    seeded()
    plain = torch.randn(3, device="cuda")
    seeded()
    torch.testing.assert_close(torch.normal(mean, deviation), plain * deviation + mean)


def test_dropout_reads_four_elements_at_once() -> None:
    seeded()
    kept = torch.nn.functional.dropout(torch.ones(10 * 4, device="cuda"), 0.3).cpu() != 0
    assert kept.tolist() == [uniform(philox(i // 4)[i % 4]) < 0.7 for i in range(40)]
    seeded()
    kept = torch.nn.functional.dropout(torch.ones(7, device="cuda"), 0.3).cpu() != 0  # which four do not divide
    assert kept.tolist() == [uniform(philox(i)[0]) < 0.7 for i in range(7)]


def test_dropout_leaves_the_cpus_numbers() -> None:
    before = torch.get_rng_state()
    for p in (0.5, 1.0):
        torch.ops.aten.native_dropout(torch.ones(8, device="cuda"), p, True)
    assert torch.equal(torch.get_rng_state(), before)


def test_permutations_are_sorted_by_random_keys() -> None:
    n = 10
    bits = math.ceil(math.log2(n - (6 * n * n + 1) / (math.log(0.9) * 12)))
    words = [philox(thread) for thread in range(n)]
    keys = [((w[0] << 32 | w[1]) % 0xFFFFFFFF) - (1 << 31) & (1 << bits) - 1 for w in words]
    assert len(set(keys)) == n, "no two are the same, which would be shuffled"
    seeded()
    assert torch.randperm(n, device="cuda").tolist() == sorted(range(n), key=keys.__getitem__)
    assert sorted(torch.randperm(5000, device="cuda").tolist()) == list(range(5000))


def test_samples_are_races_of_exponential_numbers() -> None:
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4], device="cuda")
    race = weights.cpu() / torch.tensor([-math.log(uniform(philox(thread)[0])) for thread in range(4)])
    seeded()
    assert torch.multinomial(weights, 2).tolist() == race.topk(2).indices.tolist()
    seeded()
    drawn = torch.multinomial(weights, 3, replacement=True).tolist()
    sums = weights.cpu().cumsum(0)
    assert drawn == [int((sums < uniform(philox(sample)[0])).sum()) for sample in range(3)]


def test_a_generator_of_ones_own_draws_its_own_numbers() -> None:
    generator = torch.Generator("cuda").manual_seed(0)
    seeded(1)
    before = torch.cuda.get_rng_state()
    torch.testing.assert_close(
        torch.rand(2, device="cuda", generator=generator).cpu(), torch.tensor([0.3990, 0.5167]), atol=5e-5, rtol=0
    )
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_a_generator_of_the_device_draws_nothing_for_tensors_of_the_cpu() -> None:
    generator, refused = torch.Generator("cuda"), "Expected a 'cpu' device type for generator but found"
    for draw in (
        lambda: torch.rand(2, generator=generator),
        lambda: torch.randperm(3, generator=generator),
        lambda: torch.empty(2).uniform_(generator=generator),
        lambda: torch.multinomial(torch.ones(3), 1, generator=generator),
        lambda: torch.utils.data.random_split(range(4), [2, 2], generator=generator),  # type: ignore[arg-type]
    ):
        with pytest.raises(RuntimeError, match=refused):
            draw()
    assert torch.randperm(3, generator=generator, device="cuda").is_cuda


def test_bad_arguments_are_refused_before_a_number_is_drawn() -> None:
    seeded()
    with pytest.raises(RuntimeError, match="std >= 0"):
        torch.empty(2, device="cuda").normal_(0, -1)
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.empty(2, device="cuda", dtype=torch.int8).random_(0, 1000)
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        torch.ops.aten.native_dropout(torch.ones(2, device="cuda"), 2.0, True)
    assert torch.cuda.default_generators[0].get_offset() == 0


def test_an_offset_is_a_multiple_of_four() -> None:
    generator = torch.Generator("cuda").manual_seed(1)
    generator.set_offset(8)
    state = generator.get_state()
    state[8] = 3
    for refused in (lambda: generator.set_offset(3), lambda: generator.set_state(state)):
        with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
            refused()
    assert generator.get_offset() == 8


IN_A_CAPTURE = """
import torch
torch.cuda.init()
generator, graph = torch.cuda.default_generators[0], torch.cuda.CUDAGraph()
generator.manual_seed(5)
state = generator.get_state()
calls = {
    "get_offset": generator.get_offset, "initial_seed": generator.initial_seed, "get_state": generator.get_state,
    "set_state": lambda: generator.set_state(state), "manual_seed": lambda: generator.manual_seed(5),
}
refused = set()
with torch.cuda.graph(graph):
    for name, call in calls.items():
        try:
            call()
        except RuntimeError as error:
            assert "during CUDA graph capture. If you need this call" in str(error), error
            refused.add(name)
print(*sorted(refused))
"""


def test_what_a_capture_may_not_ask_a_generator(musa: Interpreter) -> None:
    """By the sources of torch_musa 2.7.1. CUDA builds have the words for `initial_seed` in torch 2.9.1 and no more in 2.15.0."""
    said = {
        release: musa.run(IN_A_CAPTURE, env={"MUSASIM_RELEASE": release}, forked=True).stdout.split()
        for release in ("2.7.1", "2.11.0")
    }
    assert said == {
        "2.7.1": ["get_offset", "get_state", "initial_seed", "manual_seed", "set_state"],
        "2.11.0": ["get_offset"],
    }


def first_of_the_second_turn(musa: Interpreter, **env: str) -> int:
    """The element that has the second number of thread 0: as many threads there are."""
    code = f"""
    import torch
    torch.cuda.manual_seed(0)
    drawn = torch.rand(500_000, device="cuda").cpu()
    print(int((drawn - {uniform(philox(0)[1])}).abs().argmin()))
    """
    return int(musa.run(code, env=env).stdout.split()[-1])


@pytest.mark.full
def test_torch_rng_align_names_the_gpu_whose_grid_is_used(musa: Interpreter) -> None:
    later = {"MUSASIM_RELEASE": "2.9.1"}
    assert first_of_the_second_turn(musa, **later) == DEVICE
    assert first_of_the_second_turn(musa, **later, TORCH_RNG_ALIGN="a100") == 108 * 2048
    assert first_of_the_second_turn(musa, **later, TORCH_RNG_ALIGN="h100-pcie") == 114 * 2048
    explicit = {"TORCH_ARCH_MP_COUNT": "10", "TORCH_ARCH_MAXTHREADS_PER_MP": "1024"}
    assert first_of_the_second_turn(musa, **later, **explicit, TORCH_RNG_ALIGN="A100") == 10 * 1024
    older = {"MUSASIM_RELEASE": "2.7.1"}
    assert first_of_the_second_turn(musa, **older, TORCH_RNG_ALIGN="A100") == DEVICE, "2.7.1 does not read it"


@pytest.mark.full
def test_a_gpu_that_is_not_in_the_table_is_named_in_the_error(musa: Interpreter) -> None:
    later = {"MUSASIM_RELEASE": "2.11.0"}
    failed = musa.run("import torch_musa", env={**later, "TORCH_RNG_ALIGN": "GTX"}, check=False)
    assert failed.returncode != 0
    assert "Unknown NV GPU 'GTX'. Available: A100, A800, B200, H100" in failed.stderr
    musa.run(
        """
        import torch, torch_musa
        assert torch.musa.NV_GPU_REGISTRY["H200"] == (132, 2048)
        torch.musa.align_rng_to_nv_gpu("v100")
        import os
        assert (os.environ["TORCH_ARCH_MP_COUNT"], os.environ["TORCH_ARCH_MAXTHREADS_PER_MP"]) == ("80", "2048")
        """,
        env=later,
    )


def test_2_7_1_has_no_such_names(musa: Interpreter) -> None:
    code = "import torch\nassert not hasattr(torch.musa, 'align_rng_to_nv_gpu') and not hasattr(torch.musa, 'NV_GPU_REGISTRY')"
    musa.run(code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True)
