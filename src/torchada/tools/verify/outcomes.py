"""What can come of a check."""

from __future__ import annotations

from torchada.report.severity import ERROR, NOTE, OK, WARNING

PASSED, UNSUPPORTED, SKIPPED = "passed", "unsupported", "skipped"
FAILED, CRASHED, TIMED_OUT = "failed", "crashed", "timed out"
SEVERITIES = {FAILED: ERROR, CRASHED: ERROR, TIMED_OUT: ERROR, UNSUPPORTED: WARNING, SKIPPED: NOTE, PASSED: OK}
MEANINGS = {
    FAILED: "a wrong answer, or an error",
    CRASHED: "the process has ended",
    TIMED_OUT: "no answer in the time given",
    UNSUPPORTED: "a documented limit of the platform",
    SKIPPED: "cannot be tried on this machine",
    PASSED: "the answer is the CPU's",
}
FAULTS = frozenset(outcome for outcome, severity in SEVERITIES.items() if severity == ERROR)
