"""What a run on a device shows and what it does not, in words. docs/how-to/ci.md and docs/how-to/reports.md say the same."""

from __future__ import annotations

WITHOUT_KERNELS = "which devices, types and sizes are accepted, CUDA's errors, and indexing"
EXACT = f"{WITHOUT_KERNELS}, and what a kernel's threads do together"
OF_THE_CPU = "the numbers: rounding and the order of sums are those of the CPU's kernels, not of a GPU's"
NOT_SIMULATED = "speed, work that overlaps (a missing synchronisation stays unseen), NVIDIA's closed libraries"
NOT_SIMULATED_UNDER_CHECK = "speed, work that overlaps, NVIDIA's closed libraries"
OF_SIMULATOR = (("exact", EXACT), ("the CPU's", OF_THE_CPU), ("not simulated", NOT_SIMULATED))
OF_HARDWARE = (
    ("on the device", "every operator that is not listed; torch_musa does not count them"),
    (
        "the device's",
        "the numbers: rounding and the order of sums differ from those of another GPU, and from the CPU's",
    ),
)


def meaning(simulated: bool) -> tuple[tuple[str, str], ...]:
    """Pairs of what is meant, and what is said of it."""
    return OF_SIMULATOR if simulated else OF_HARDWARE
