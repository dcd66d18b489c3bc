"""Questions that are asked in processes of their own, with a time limit: importing torch may fail, crash or hang."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping

from torchada.base import settings
from torchada.base.processes import NOT_FROM_HERE
from torchada.tools.doctor.facts import Probe

_TORCH = """
import json, sys
import torch
print(json.dumps({
    "version": torch.__version__,
    "cuda": torch.version.cuda,
    "hip": getattr(torch.version, "hip", None),
    "file": torch.__file__,
    "transfer_to_npu": "torch_npu.contrib.transfer_to_npu" in sys.modules,
    "cuda_devices": torch.cuda.device_count() if torch.version.cuda else 0,
}))
"""
_ADAPTER = """
import importlib.util, json, sys
name = sys.argv[1]
spec = importlib.util.find_spec(name)
answer = {"installed": spec is not None and spec.loader is not None}
if answer["installed"]:
    try:
        import torch
        adapter = __import__(name)
        namespace = getattr(torch, sys.argv[2])
        answer["simulated"] = bool(getattr(adapter, "__simulated__", False))
        answer["version"] = str(getattr(adapter, "__version__", ""))
        answer["device_version"] = str(getattr(torch.version, sys.argv[2], "") or "")
        answer["devices"] = [namespace.get_device_name(i) for i in range(namespace.device_count())]
    except BaseException as error:
        answer["error"] = f"{type(error).__name__}: {error}"
        cause = error.__cause__ or error.__context__
        if cause is not None:
            answer["cause"] = f"{type(cause).__name__}: {cause}"
print(json.dumps(answer))
"""
_STATUS = "import sys; sys.argv = ['torchada', 'status', '--probe', '--json']; from torchada.cli import main; main()"
_WITHOUT_US = {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


def torch(limit: float) -> Probe:
    """torch by itself, without torchada and without backends that torch loads by itself."""
    return _ask(_TORCH, limit, _WITHOUT_US)


def adapter(name: str, namespace: str, limit: float) -> Probe:
    """The adapter, without redirection; the simulator's, where the environment asks for it and there is no other."""
    probe = _ask(_ADAPTER, limit, _WITHOUT_US, name, namespace)
    if probe.ok and not probe.answer.get("installed") and settings.read().simulate:
        return _ask(_ADAPTER, limit, {}, name, namespace)  # torchada's own finder finds it
    return probe


def status(limit: float) -> Probe:
    """What `torchada status --probe` says in this environment."""
    return _ask(_STATUS, limit, {})


def _ask(code: str, limit: float, changes: Mapping[str, str], *arguments: str) -> Probe:
    """The JSON that `code` prints in another interpreter."""
    started = time.monotonic()
    environment = settings.environment_with({"PYTHONWARNINGS": "ignore", **changes})
    try:
        done = subprocess.run(
            [sys.executable, "-c", NOT_FROM_HERE + code, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return Probe({}, f"no answer within {limit:g} seconds", time.monotonic() - started)
    except OSError as error:
        return Probe({}, f"{sys.executable} cannot be started: {error.strerror}")
    return _answer(done, time.monotonic() - started)


def _answer(done: subprocess.CompletedProcess[str], seconds: float) -> Probe:
    start = done.stdout.find("{")
    try:
        answer = json.loads(done.stdout[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict):
        return Probe(answer, "", seconds)
    if done.returncode < 0:
        return Probe({}, f"the process was ended by signal {-done.returncode}", seconds)
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return Probe({}, said[-1].strip() if said else f"it ended with {done.returncode} and said nothing", seconds)
