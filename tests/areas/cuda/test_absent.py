"""What only NVIDIA has says so, by its own name, when it is used; importing it is harmless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import torchada

SOURCE = "template <typename T> T twice(T x) { return x + x; }"
USES: list[tuple[str, Callable[[], Any]]] = [
    ("torch.cuda.jiterator", lambda: torch.cuda.jiterator._create_jit_fn(SOURCE)(torch.ones(1, device="cuda"))),
    ("torch.cuda.gds.gds_register_buffer", lambda: torch.cuda.gds.gds_register_buffer(torch.zeros(1))),
    ("torch.cuda.gds.GdsFile", lambda: torch.cuda.gds.GdsFile("file", 0)),
    ("torch.cuda.tunable.enable", lambda: torch.cuda.tunable.enable(True)),
    ("torch.cuda.tunable.tune_gemm_in_file", lambda: torch.cuda.tunable.tune_gemm_in_file("file")),
]


@pytest.mark.parametrize(("api", "use"), USES, ids=[api for api, _ in USES])
def test_names_the_backend_lacks_raise_a_clear_error(api: str, use: Callable[[], Any]) -> None:
    with pytest.raises(torchada.UnsupportedError, match=f"^{api}.* has no counterpart on MUSA: .+"):
        use()


@pytest.mark.skipif(not hasattr(torch.cuda, "GreenContext"), reason="not in this torch")
def test_green_contexts() -> None:
    assert isinstance(torch.cuda.GreenContext, type)
    with pytest.raises(NotImplementedError, match=r"torch\.cuda\.GreenContext"):
        torch.cuda.GreenContext()


@pytest.mark.skipif(not hasattr(torch.cuda, "current_solver_handle"), reason="not in this torch")
def test_solver_handle() -> None:
    with pytest.raises(torchada.UnsupportedError, match="current_solver_handle"):
        torch.cuda.current_solver_handle()


def test_tunable_is_off() -> None:
    """Programs switch it off, and ask whether it is on."""
    torch.cuda.tunable.enable(False)
    torch.cuda.tunable.tuning_enable(val=False)
    assert not torch.cuda.tunable.is_enabled() and not torch.cuda.tunable.tuning_is_enabled()
    assert torch.cuda.tunable.get_results() == ()


@pytest.mark.skipif(not hasattr(torch.cuda.tunable, "wildcard_fallback_enable"), reason="not in this torch")
def test_wildcards_are_off_as_well() -> None:
    torch.cuda.tunable.wildcard_fallback_enable(False)
    assert torch.cuda.tunable.wildcard_fallback_is_enabled() is False
    with pytest.raises(torchada.UnsupportedError, match="wildcard_fallback_enable"):
        torch.cuda.tunable.wildcard_fallback_enable()


def test_making_a_jitted_function_is_harmless() -> None:
    """Modules make them when they are imported, torch's own tests among them."""
    assert callable(torch.cuda.jiterator._create_jit_fn(SOURCE))
