"""Runs one check, and leaves the process as the next one expects it."""

from __future__ import annotations

import time
import traceback
from typing import NamedTuple

import torch

from torch_battery.check import Check, NotHere, Wrong


class Result(NamedTuple):
    """What came of a check.

    `outcome` is "passed", "failed", "unsupported" or "skipped"; `detail` says why, in a line. `error` is the largest error
    as a share of what is allowed, `log` the traceback of an unexpected exception. `is_usable` is False where the device cannot be
    used any more.
    """

    outcome: str
    detail: str
    seconds: float
    error: float | None = None
    log: str = ""
    is_usable: bool = True


def execute(check: Check, refusal: type[Exception] = NotHere) -> Result:
    """Run the check. `refusal` is the exception that says that something is, as documented, not to be had on this device."""
    begin = time.perf_counter()
    outcome, detail, error, log = _run(check, refusal)
    seconds = time.perf_counter() - begin
    return Result(outcome, detail, seconds, error, log, _is_usable() if log else True)


def _run(check: Check, refusal: type[Exception]) -> tuple[str, str, float | None, str]:
    try:
        _prepare(check)
        error = check.program()
        torch.cuda.synchronize()
    except NotHere as reason:
        return "skipped", str(reason), None, ""
    except refusal as reason:
        return "unsupported", _line(reason), None, ""
    except Wrong as wrong:
        return "failed", str(wrong), None, ""
    except Exception as fault:  # whatever it is, it is what the report is about
        return "failed", f"{type(fault).__name__}: {_line(fault)}", None, traceback.format_exc()
    return "passed", "", error, ""


def _prepare(check: Check) -> None:
    """A capture that fails leaves its stream as the current one; and random numbers are to be those of the check."""
    count = torch.cuda.device_count()
    if check.devices > count:
        raise NotHere(f"this needs {check.devices} devices; here is one" if count == 1 else "there is no device")
    torch.cuda.set_device(0)
    torch.cuda.set_stream(torch.cuda.default_stream())
    torch.manual_seed(0)


def _line(fault: Exception) -> str:
    return str(fault).strip().partition("\n")[0]


def _is_usable() -> bool:
    """Whether the device still computes: some errors of a kernel end every later call."""
    try:
        torch.cuda.synchronize()
        return torch.ones(3, device="cuda").sum().item() == 3
    except Exception:
        return False
