"""Additions to torch.profiler.

The real package replaces torch's pattern detectors (`_pattern_matcher`, `_utils.BasicEvaluation`) by versions that know
the vendor's kernels by name. Kernels here are the CPU's, and loading the detectors takes longer than the rest of
the import, so torch's own detectors stay.
"""


def set_profiler_attributes() -> None:
    """Do nothing, for the reason above."""
