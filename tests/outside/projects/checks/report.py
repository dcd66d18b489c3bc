"""Counts what agrees with its reference."""

from __future__ import annotations

import json

import torch


class Report:
    """`agree` compares; `end` prints the last line of a check."""

    def __init__(self) -> None:
        self._tried, self._wrong = 0, list[str]()

    def agree(
        self, name: str, found: torch.Tensor, wanted: torch.Tensor, rtol: float = 1e-4, atol: float = 1e-5
    ) -> None:
        """Compare a result on the device with its reference."""
        self._tried += 1
        found, wanted = found.detach().cpu(), wanted.detach().cpu()
        if found.shape != wanted.shape or not torch.allclose(found.double(), wanted.double(), rtol=rtol, atol=atol):
            difference = (found.double() - wanted.double()).abs().max() if found.shape == wanted.shape else found.shape
            self._wrong.append(f"{name}: {difference}")

    def end(self) -> None:
        print(json.dumps({"tried": self._tried, "wrong": self._wrong}))
