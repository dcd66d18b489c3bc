"""A plugin of pytest: BoTorch's tests on the GPU, one by one.

Its own `test/test_cuda.py` gives every test `cuda` as its device and runs them all as one test; here each has a verdict.
"""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """As `run_cuda_tests` of the library does, where a test has a device at all."""
    import torch

    for item in items:
        cls = getattr(item, "cls", None)
        if cls is not None and hasattr(cls, "device"):
            cls.device = torch.device("cuda")
