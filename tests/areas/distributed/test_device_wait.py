"""Whoever waits for the device waits for collectives that were begun on it, as on CUDA, whose kernels are work of the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.launch import PROGRAMS, by_hand, started

pytestmark = [pytest.mark.full, pytest.mark.once]


def outputs(how: str, timeout: int, folder: Path) -> list[str]:
    command = [str(PROGRAMS / "device_wait.py"), how, str(timeout)]
    with started(command, command, folder=folder, envs=by_hand(2)) as running:
        return [each.wait().must_succeed().output for each in running]


def test_values_are_there_after_synchronize(tmp_path: Path) -> None:
    first, second = outputs("late", 60, tmp_path)
    reduced, gathered = "[2.0, 2.0, 2.0, 2.0]", "[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]"
    assert f"values {reduced} {gathered}" in first
    assert f"values {reduced} {gathered} [5.0, 5.0]" in second


def test_synchronize_raises_what_a_collective_met(tmp_path: Path) -> None:
    """On CUDA the watchdog ends the process there."""
    first, _ = outputs("hung", 3, tmp_path)
    assert "raised [Rank 0] Watchdog caught collective operation timeout" in first and "OpType=ALLREDUCE" in first
