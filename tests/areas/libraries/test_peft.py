"""peft: five kinds of adapters on a tiny Llama, trained, saved, loaded and merged."""

from __future__ import annotations

from typing import Any

NEEDS = ("peft", "transformers")


def test_adapters(agrees: Any) -> None:
    found = agrees("peft_lora.py")
    assert len(found["same"]) == 7 and all(found["same"].values())
