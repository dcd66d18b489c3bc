"""What torchada has done in this process, as data. Reporting changes nothing and does not import torch."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from _torchada_startup import FINDER, is_disabled
from torchada.backends import select
from torchada.base import settings as _settings
from torchada.base import warnings
from torchada.control import startup_files
from torchada.hooks.registry import REGISTRY
from torchada.hooks.state import STATE, is_complete
from torchada.redirect.engine import ENGINE, Patch

ACTIVE, INACTIVE, FAILED = 0, 1, 2
_UNKNOWN = "of unknown version"


def report() -> dict[str, Any]:
    """Everything status shows, as plain data for JSON. Parts that depend on torch are filled only once torch has been imported."""
    settings = _settings.read()
    selection = STATE.selection or select.before_torch(settings)
    return {
        "disabled": is_disabled(),
        "startup": _startup(),
        "finder": _finder(),
        "platform": {
            "name": selection.platform,
            "why": selection.why,
            "chosen_with_torch": STATE.selection is not None,
        },
        "versions": _versions(selection),
        "modules": _modules(),
        "areas": [area.as_data() for area in STATE.areas.values()],
        "workarounds": workarounds(),
        "cpu_fallbacks": _cpu_fallbacks(),
        "device_strings": _device_strings(),
        "views": _views(),
        "environment": _environment(settings),
        "problems": [*STATE.problems, *_unnoticed(selection)],
        "active": _is_active(selection),
        "warnings": warnings.said(),
    }


def _unnoticed(selection: select.Selection) -> list[str]:
    """That torch arrived without a word to us, because a finder in front of ours answered for it."""
    if not _is_active(selection) or STATE.has("torch") or not is_complete(sys.modules.get("torch")):
        return []
    first = type(sys.meta_path[0]).__name__
    return [
        f"another import hook ({first}) has imported torch, so nothing is redirected; torchada.enable() redirects it now"
    ]


def apis() -> dict[str, list[str]]:
    """The APIs of CUDA that each area redirects, by area."""
    applied = ENGINE.applied().items()
    return {area: sorted({record.patch.api for record in done if record.patch.api}) for area, done in applied}


def workarounds() -> list[dict[str, str]]:
    """What is in force only for some versions of torch, the backend's adapter or a library."""
    patches = ((area, record.patch) for area, done in ENGINE.applied().items() for record in done)
    bound = {(area, _with_state(patch), patch.versions) for area, patch in patches if patch.versions}
    return [{"area": area, "for": text, "versions": versions} for area, text, versions in sorted(bound)]


def _with_state(patch: Patch) -> str:
    """What a patch is for; a replacement that decides as it runs has a state, which says what it decided."""
    return ": ".join(filter(None, (patch.text, getattr(patch.replacement, "state", ""))))


def exit_code(status: dict[str, Any]) -> int:
    """0: redirection is, or on the import of torch will be, in force; 1: nothing to do; 2: something failed."""
    if status["problems"] or any(area["outcome"] == "failed" for area in status["areas"]):
        return FAILED
    return ACTIVE if status["active"] else INACTIVE


def _is_active(selection: select.Selection) -> bool:
    # torchada.enable() is stronger than TORCHADA_DISABLE=1, which keeps the finder away.
    return FINDER.is_in_force() and selection.backend is not None


def _startup() -> dict[str, Any]:
    file = startup_files.in_force()
    return {"file": str(file) if file else None, "bytecode_cached": startup_files.bytecode_is_cached()}


def _finder() -> dict[str, Any]:
    position = sys.meta_path.index(FINDER) if FINDER.is_in_force() else None
    return {"installed": position is not None, "position": position, "of": len(sys.meta_path)}


def _versions(selection: select.Selection) -> dict[str, str | None]:
    adapter = selection.backend.adapter if selection.backend else "torch_musa"
    return {
        "python": platform.python_version(),
        "torch": _module_version("torch") or _installed_version("torch"),
        adapter: _adapter_version(adapter, selection),
        "wrapt": _installed_version("wrapt"),
    }


def _adapter_version(adapter: str, selection: select.Selection) -> str | None:
    module = sys.modules.get(adapter)
    if module is not None:
        kind = "simulated" if getattr(module, "__simulated__", False) else "real"
        return f"{_module_version(adapter) or _installed_version(adapter) or _UNKNOWN} ({kind})"
    spec = FINDER.ask_remaining(adapter)
    if spec is not None and spec.loader is not None:  # not find_spec, which also finds the simulator
        return f"{_installed_version(adapter) or _UNKNOWN} (real, not imported)"
    return "simulated, not imported" if selection.backend is not None else None


def _module_version(name: str) -> str | None:
    return getattr(sys.modules.get(name), "__version__", None)


def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _modules() -> dict[str, str]:
    return {name: _module_state(name) for name in dict.fromkeys([*FINDER.watched, *REGISTRY.modules()])}


def _module_state(name: str) -> str:
    home = REGISTRY.home_of(name)
    areas = [area for area in STATE.areas.values() if area.module == home]
    failed = [area for area in areas if area.outcome == "failed"]
    if failed:
        return "failed: " + "; ".join(f"{area.name}: {area.reason}" for area in failed)
    if not is_complete(sys.modules.get(name)):
        return "not imported"
    if any(area.outcome == "applied" for area in areas):
        return "wrapped"
    return "imported, left as it is"


def _cpu_fallbacks() -> dict[str, int]:
    """How often each operator was computed on the CPU. Nothing has noted one where the module is not loaded."""
    module = sys.modules.get("torchada.redirect.cpu_fallbacks")
    return dict(module.COUNTS) if module is not None else {}


def _device_strings() -> dict[str, str]:
    if STATE.context is None:
        return {"mechanism": "none", "why": "nothing is redirected in this process"}
    mechanism = STATE.context.mechanism
    return {"mechanism": mechanism.name, "why": mechanism.why}


def _views() -> list[dict[str, str]]:
    if STATE.context is None:
        return []
    decisions = sorted(STATE.context.views.decisions.items())
    return [
        {"package": name, "view": "cuda" if sees_cuda else "musa", "why": why} for name, (sees_cuda, why) in decisions
    ]


def _environment(settings: _settings.Settings) -> dict[str, Any]:
    return {
        "in_force": _settings.in_force(),
        "unknown": list(settings.unknown),
        "not_understood": list(settings.not_understood),
    }
