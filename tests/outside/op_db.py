"""PyTorch's table of operators: each in each data type that CUDA takes, forward and backward, against the CPU.

The process of the suite `op-db`, in the place of pytest. What differs from the CPU is wrong, what raises where the CPU does not is
refused.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from outside import harness, recorder
from outside.parts import Part

if TYPE_CHECKING:
    import torch

#: How many samples are compared, forward and backward.
FORWARD, BACKWARD = 6, 4
WRONG, REFUSED = "wrong", "refused"


def main() -> None:
    """Write down the verdict of each test that has none yet."""
    harness.prepare()
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)  # the samples are tiny, so threads only cost time
    tests = chosen(list(_tests()), os.environ.get("OUTSIDE_ONLY", ""), Part.read(os.environ.get("OUTSIDE_PART", "1/1")))
    recorder.write(collected=len(tests))
    for name, op, dtype, gradients in tests:
        if name in recorder.DONE:
            continue
        recorder.write(test=name, began=True)
        verdict, error = judge(op, dtype, gradients)
        recorder.write(test=name, verdict=verdict, error=recorder.one_line(error))


Test = tuple[str, Any, "torch.dtype", bool]


def _tests() -> Iterator[Test]:
    from support.expecttest_stand_in import stand_in_for_expecttest

    stand_in_for_expecttest()
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        if is_for_the_cpu(op):
            continue
        # The table's own functions would answer for the device that they see behind the word "cuda".
        for dtype in sorted(op.dtypesIfCUDA, key=str):
            name = f"{op.formatted_name} {str(dtype).removeprefix('torch.')}"
            yield f"{name} forward", op, dtype, False
            if has_gradients(op, dtype):
                yield f"{name} gradients", op, dtype, True


def has_gradients(op: Any, dtype: torch.dtype) -> bool:
    """Whether CUDA computes gradients in this type. The table lists types of whole numbers too, of which there are none."""
    return (
        bool(op.supports_autograd)
        and dtype in op.backward_dtypesIfCUDA
        and (dtype.is_floating_point or dtype.is_complex)
    )


def is_for_the_cpu(op: Any) -> bool:
    """Whether PyTorch has no kernel for CUDA, as of `sparse.mm` with a reduction, and says so by a decorator alone."""
    from torch.testing._internal.common_device_type import onlyCPU

    return onlyCPU in op.decorators


def chosen(tests: list[Test], only: str, part: Part) -> list[Test]:
    """Those whose name contains `only`, and of them a part."""
    return part.of([test for test in tests if only in test[0]])


def judge(op: Any, dtype: torch.dtype, gradients: bool) -> tuple[str, str]:
    """The verdict and its reason."""
    from support import ops_gate

    compared, samples = 0, BACKWARD if gradients else FORWARD
    for number, sample in ops_gate.sampled(op, samples, requires_grad=gradients, dtype=dtype):
        try:
            compared += ops_gate.check(op, sample, number, gradients, "cuda")
        except ops_gate.NoReference:
            continue
        except ops_gate.Mismatch as error:
            return "failed", f"{WRONG}: {error}"
        except Exception as error:
            return "failed", f"{REFUSED}: {type(error).__name__}: {error}"
    return ("passed", "") if compared else ("skipped", "the CPU computes no sample of this type")


if __name__ == "__main__":
    main()
