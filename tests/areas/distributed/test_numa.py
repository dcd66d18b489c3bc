"""torchrun --numa-binding: processes are bound to the processors near their device."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once


def test_a_device_that_the_kernel_does_not_list_has_the_first_node(musa: Interpreter) -> None:
    pytest.importorskip("torch.numa.binding", reason="this torch binds no processes")
    out = musa.run(
        """
        from torch.numa import binding

        def node(index):
            if hasattr(binding, "_get_numa_node_index_for_gpu_index"):
                return binding._get_numa_node_index_for_gpu_index(gpu_index=index)
            return binding._get_numa_node_index_for_device_index(device_index=index)

        print(node(0))
        try:
            node(99)
        except (AssertionError, RuntimeError) as error:
            print(type(error).__name__)
        """,
        forked=True,
    )
    first, second = str(getattr(out, "stdout", out)).split()
    assert first == "0" and second in ("AssertionError", "RuntimeError", "AcceleratorError")
