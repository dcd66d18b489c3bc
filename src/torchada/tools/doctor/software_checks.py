"""Checks of what is installed: torch, the adapter, what belongs together, what does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchada.report.severity import ERROR, NOTE, OK, WARNING
from torchada.tools.doctor.driver_of_vendor import VENDORS
from torchada.tools.doctor.facts import Facts
from torchada.tools.doctor.machine import version_of
from torchada.tools.doctor.results import Result
from torchada.tools.doctor.version_pairs import Pair, begins, numbers, pair_of

_ADAPTERS = {
    "torch-musa": "Moore Threads",
    "torch-npu": "Ascend",
    "torch-mlu": "Cambricon",
    "intel-extension-for-pytorch": "Intel",
}
_OF_PYPI = frozenset({"nvidia", "amd", "cpu", "intel"})


def python(facts: Facts) -> Iterator[Result]:
    """The interpreter."""
    yield Result("python", OK, "Python", f"{facts.python}, {facts.executable}")


def torch(facts: Facts) -> Iterator[Result]:
    """Whether torch can be imported, and is the one that is installed."""
    installed = facts.version("torch")
    if facts.folder_hides:
        files = ", ".join(facts.folder_hides)
        cure = "rename it, or start programs in another folder"
        yield Result(
            "torch-hidden", WARNING, "torch", f"{files} hides a package from programs that are started here", cure
        )
    if not facts.torch.ok:
        yield from _torch_fails(facts, installed)
        return
    version = str(facts.torch.answer["version"])
    copies = facts.all_of("torch")
    if len(copies) > 1:
        places = ", ".join(f"{copy.version} in {copy.folder}" for copy in copies)
        cure = "keep one: remove the others, or take their folder from PYTHONPATH"
        yield Result("torch-twice", WARNING, "torch", f"it is installed more than once: {places}", cure)
    elif installed and numbers(installed) != numbers(version):
        text = f"its files are of {version}, and its metadata say {installed}"
        yield Result("torch-mixed", ERROR, "torch", text, f"pip install --force-reinstall --no-deps torch=={installed}")
    build = facts.torch.answer.get("cuda") or facts.torch.answer.get("hip")
    yield Result("torch", OK, "torch", f"{version}{f', built for {build}' if build else ''}")


def _torch_fails(facts: Facts, installed: str) -> Iterator[Result]:
    if not installed and "ModuleNotFoundError" in facts.torch.error:
        cure = "install the vendor's torch and torch_musa; to look around without hardware, pip install torch"
        yield Result("torch-absent", ERROR, "torch", "it is not installed in this environment", cure)
        return
    if facts.torch.error.startswith("no answer"):
        cure = (
            "see what it waits for: python -X importtime -c 'import torch'; a folder on a network is the usual reason"
        )
        yield Result("torch-hangs", ERROR, "torch", f"importing it gives {facts.torch.error}", cure)
        return
    file = "its files" if installed else "a module of that name that pip did not install"
    cure = (
        f"pip install --force-reinstall torch=={installed}"
        if installed
        else "see which it is: python -c 'import importlib.util as u; print(u.find_spec(\"torch\").origin)'"
    )
    yield Result("torch-broken", ERROR, "torch", f"{file} cannot be imported: {facts.torch.error}", cure)


def adapter(facts: Facts) -> Iterator[Result]:
    """Whether the adapter can be imported and shows devices."""
    answer, name = facts.adapter.answer, facts.adapter_name
    if not facts.adapter.ok:
        if facts.torch.ok:
            cure = f"see what it waits for: python -c 'import {name}'; `dmesg` shows what the driver says"
            yield Result("adapter-hangs", ERROR, name, f"importing it: {facts.adapter.error}", cure)
    elif not answer.get("installed"):
        yield from _no_adapter(facts)
    elif "error" in answer:
        yield _symptom(name, answer)
    else:
        kind = "simulated" if answer.get("simulated") else "real"
        yield Result("adapter", OK, name, f"{answer.get('version')} ({kind})")
        yield from _devices(facts, answer)


def _no_adapter(facts: Facts) -> Iterator[Result]:
    if facts.machine.nodes or facts.machine.driver:
        cure = (
            "install torch_musa and the torch that belongs to it: https://github.com/MooreThreads/torch_musa/releases"
        )
        text = "it is not installed, and this machine has Moore Threads devices: nothing is redirected"
        yield Result("adapter-absent", ERROR, "torch_musa", text, cure)
        return
    if facts.torch.answer.get("cuda_devices") or facts.torch.answer.get("hip"):
        yield Result("adapter", OK, "torch_musa", "not installed; this torch has devices of its own, and is left alone")
        return
    cure = "without hardware: `torchada run --on cpu PROGRAM`, or `torchada run --simulate PROGRAM`"
    yield Result("adapter", NOTE, "torch_musa", "not installed: nothing is redirected on this machine", cure)


def _symptom(name: str, answer: Any) -> Result:
    """What an error of the import means, where that is known."""
    text = f"{answer['error']} {answer.get('cause', '')}"
    first = str(answer.get("cause") or answer["error"])
    for sign, meaning, cure, source in VENDORS[name].symptoms:
        if sign in text:
            return Result("adapter-broken", ERROR, name, f"it cannot be imported: {meaning} ({first})", cure, source)
    cure = f"see the whole error: python -c 'import {name}'"
    return Result("adapter-broken", ERROR, name, f"it cannot be imported: {first}", cure)


def _devices(facts: Facts, answer: Any) -> Iterator[Result]:
    names = answer.get("devices", [])
    if names:
        yield Result("devices", OK, "devices", f"{len(names)}: {', '.join(dict.fromkeys(names))}")
        return
    vendor = VENDORS[facts.adapter_name]
    hidden = [f"{name}={facts.variables[name]}" for name in vendor.visible if name in facts.variables]
    if hidden:
        text = f"none is visible: {', '.join(hidden)}"
        yield Result(
            "devices-hidden",
            ERROR,
            "devices",
            text,
            f"unset {' '.join(setting.partition('=')[0] for setting in hidden)}",
        )
        return
    yield Result("devices-none", ERROR, "devices", f"{facts.adapter_name} sees none", vendor.look)


def belongs(facts: Facts) -> Iterator[Result]:
    """Whether torch, adapter, SDK and Python belong together."""
    version = facts.version("torch-musa") or str(facts.adapter.answer.get("version") or "")
    pair = pair_of(version) if facts.has_musa else None
    if pair is None:
        return
    torch_version = str(facts.torch.answer.get("version") or facts.version("torch"))
    sdk = facts.machine.sdk or version_of(str(facts.adapter.answer.get("device_version") or ""))
    faults = list(_misfits(pair, version, torch_version, sdk, facts.python))
    yield from faults
    if not faults:
        yield Result(
            "pair", OK, "versions", f"torch_musa {version} and torch {torch_version} belong together", "", pair.source
        )


def _misfits(pair: Pair, version: str, torch_version: str, sdk: str, python_version: str) -> Iterator[Result]:
    if torch_version and not begins(torch_version, pair.torch):
        text = f"torch_musa {version} belongs to torch {pair.torch}, and {torch_version} is installed"
        cure = f"install the vendor's torch {pair.torch}, or the torch_musa for torch {torch_version.partition('+')[0]}"
        yield Result("pair-torch", ERROR, "versions", text, cure, pair.source)
    if sdk and pair.sdk and not begins(sdk, pair.sdk):
        text = f"torch_musa {version} was published for MUSA SDK {pair.sdk}, and {sdk} is installed"
        yield Result("pair-sdk", WARNING, "versions", text, f"install MUSA SDK {pair.sdk} and its driver", pair.source)
    if pair.python and not begins(python_version, pair.python):
        text = f"the vendor's wheels of torch_musa {version} are for Python {pair.python}, and this is {python_version}"
        cure = f"unless you have built it yourself: use Python {pair.python}"
        yield Result("pair-python", NOTE, "versions", text, cure, pair.source)


def triton(facts: Facts) -> Iterator[Result]:
    """NVIDIA's Triton beside the vendor's torch."""
    version = facts.version("triton") or facts.version("pytorch-triton")
    if not version:
        return
    own = [backend for backend in facts.triton_backends if backend not in _OF_PYPI]
    if facts.has_musa and facts.triton_backends and not own:
        backends = ", ".join(facts.triton_backends)
        text = f"{version} is PyPI's: it compiles for {backends}, and not for MUSA"
        cure = "pip uninstall triton, and install the vendor's, which the vendor's containers have"
        source = "https://github.com/MooreThreads/torchada/issues/70"
        yield Result("triton-foreign", WARNING, "Triton", text, cure, source)
    else:
        yield Result("triton", OK, "Triton", f"{version}{f', for {chr(44).join(own)}' if own else ''}")


def companions(facts: Facts) -> Iterator[Result]:
    """Wheels for CUDA beside a torch that is not."""
    if not facts.torch.ok or facts.torch.answer.get("cuda"):
        return
    for name in ("torchvision", "torchaudio"):
        version, needed = facts.version(name), facts.cuda_libraries.get(name, ())
        if version and ("+cu" in version or needed):
            why = f"its libraries need {', '.join(needed)}" if needed else "its version says so"
            text = f"{version} is a wheel for CUDA ({why}), and torch {facts.torch.answer['version']} is not"
            cure = f"pip install --force-reinstall --no-deps the {name} that was built for this torch"
            if facts.has_musa:
                cure = f"build it from the vendor's sources (https://github.com/MooreThreads/vision): {cure}"
            yield Result("companion-cuda", ERROR, name, text, cure)
        elif version:
            yield Result("companion", OK, name, version)


def conflicts(facts: Facts) -> Iterator[Result]:
    """Others that redirect CUDA too, and several copies of ourselves."""
    copies = facts.all_of("torchada")
    if len(copies) > 1:
        places = ", ".join(f"{copy.version} in {copy.folder}" for copy in copies)
        severity = ERROR if len({copy.version for copy in copies}) > 1 else WARNING
        cure = "pip uninstall torchada until none is left, and install it once; see PYTHONPATH for other folders"
        yield Result("torchada-twice", severity, "torchada", f"it is installed more than once: {places}", cure)
    elif copies and copies[0].version != facts.torchada:
        text = f"its files are of {facts.torchada}, and its metadata in {copies[0].folder} say {copies[0].version}"
        yield Result("torchada-mixed", ERROR, "torchada", text, "pip install --force-reinstall --no-deps torchada")
    if facts.torch.answer.get("transfer_to_npu"):
        cure = (
            "take `import torch_npu.contrib.transfer_to_npu` out of what is imported at the start (.pth, sitecustomize)"
        )
        yield Result(
            "transfer-to-npu", ERROR, "transfer_to_npu", "it is active, and redirects torch.cuda to Ascend", cure
        )
    for name in facts.redirections:
        text = f"{facts.version(name.lower()) or 'a copy of it'} is installed, and replaces parts of torch.cuda as well"
        yield Result("other-redirection", WARNING, name, text, f"pip uninstall {name.lower()}, or do not activate it")
    for name, vendor in _ADAPTERS.items():
        if facts.version(name) and facts.has_adapter and name != facts.adapter_name.replace("_", "-"):
            text = (
                f"{facts.version(name)} ({vendor}) is installed beside {facts.adapter_name}; "
                "torch has room for one such device"
            )
            yield Result("two-adapters", WARNING, name, text, "keep the one of the device that this machine has")


def needs(facts: Facts) -> Iterator[Result]:
    """What torchada itself needs."""
    if not facts.version("wrapt"):
        yield Result("wrapt-absent", ERROR, "wrapt", "it is not installed, and torchada needs it", "pip install wrapt")
