"""What code sees of a device: "cuda" where it knows CUDA alone, the backend's name where it knows MUSA, and in torch itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

import torchada
from support.interpreter import Interpreter
from torchada.hooks.state import STATE
from torchada.redirect.engine import ENGINE

PROGRAM = """
import copy, io, json, logging, pickle
from concurrent.futures import ThreadPoolExecutor
import torch

device = torch.device("cuda", 1)
x = torch.ones(2, 2, device=device)
log = io.StringIO()
logging.basicConfig(stream=log, format="%(message)s")
logging.warning("on %s", device)
with ThreadPoolExecutor() as pool:
    in_threads = [pool.submit(str, device).result(), pool.submit(lambda: device.type).result()]
with torch.autocast(x.device.type, dtype=torch.bfloat16):
    low = (x @ x).dtype
print(json.dumps({
    "type": device.type,
    "texts": [str(device), f"{device}", format(device), "%s" % device, str([device]), device.__str__(), *map(str, [device])],
    "repr": [repr(device), f"{device!r}", device.__repr__()],
    "library": [log.getvalue().strip(), json.dumps(device, default=str), *in_threads],
    "round trips": [
        torch.device(str(device)) == device, torch.device(device.type, device.index) == device,
        pickle.loads(pickle.dumps(device)) == device, copy.deepcopy(device) == device, eval(repr(device), vars(torch)) == device,
    ],
    "torch": [
        str(low), torch.nn.Linear(2, 2).to(x.device.type).weight.is_cuda, torch.Generator(x.device.type).device.type,
        str(torch.utils.data.DataLoader(x.cpu(), pin_memory=True).pin_memory), torch.zeros(1, device=x.device.type).is_cuda,
        isinstance(torch.get_device_module(x.device.type), type(torch)), hash(device) == hash(x.device),
    ],
    "others": [torch.device("cpu").type, str(torch.device("cpu", 0)), repr(torch.device("meta"))],
}))
"""


def _told(name: str) -> dict[str, Any]:
    index = f"device(type='{name}', index=1)"
    return {
        "type": name,
        "texts": [f"{name}:1"] * 4 + [f"[{index}]"] + [f"{name}:1"] * 2,
        "repr": [index] * 3,
        "library": [f"on {name}:1", f'"{name}:1"', f"{name}:1", name],
        "round trips": [True] * 5,
        "torch": ["torch.bfloat16", True, name, "True", True, True, True],
        "others": ["cpu", "cpu:0", "device(type='meta')"],
    }


def test_a_program_that_knows_cuda_alone_sees_cuda(musa: Interpreter) -> None:
    assert musa.json(PROGRAM, forked=True) == _told("cuda")


def test_a_program_that_knows_musa_sees_musa(musa: Interpreter) -> None:
    assert musa.json(f"{PROGRAM}\nis_musa = None", forked=True) == _told("musa")


def test_each_package_sees_what_it_knows(musa: Interpreter, tmp_path: Path) -> None:
    text = "def told(d): return [d.type, str(d), repr(d)]\ndef called(f, d): return f(d)"
    (tmp_path / "plain.py").write_text(text)
    (tmp_path / "aware.py").write_text(f"{text}\ntorch_musa = None")
    code = """
        import json, aware, plain, torch
        device, seen = torch.device("cuda:0"), []
        for ask in (plain.told, aware.told, lambda d: plain.called(aware.told, d), lambda d: aware.called(plain.told, d)):
            seen.append(ask(device)[:2])
        scope = {"__name__": "torch.nn", "device": device}
        print(json.dumps([*seen, eval("[device.type, str(device)]", scope)]))
    """
    cuda, own = ["cuda", "cuda:0"], ["musa", "musa:0"]
    assert musa.json(code, env={"PYTHONPATH": str(tmp_path)}, forked=True) == [cuda, own, own, cuda, own]


def test_nothing_is_left_where_redirection_is_off(musa: Interpreter) -> None:
    code = """
        import sys, torch
        redirection = sys.modules["torch" + "ada"]
        x = torch.zeros(1, device="cuda")
        before = {name: vars(torch.device)[name] for name in ("type", "__str__", "__repr__")}
        redirection.disable()
        after = {name: vars(torch.device)[name] for name in before}
        kinds = [type(after[name]).__name__ for name in after]
        off = [x.device.type, str(x.device), repr(x.device), *kinds]
        redirection.enable()
        print(off, x.device.type, str(x.device))
    """
    kinds = "'getset_descriptor', 'wrapper_descriptor', 'wrapper_descriptor'"
    told = f"['musa', 'musa:0', \"device(type='musa', index=0)\", {kinds}] cuda cuda:0"
    assert musa.run(code, forked=True).stdout.strip() == told


def test_a_process_with_torchada_disabled_has_torchs_own_entries(plain: Interpreter) -> None:
    code = "import torch; print(*(type(vars(torch.device)[name]).__name__ for name in ('type', '__str__', '__repr__')))"
    expected = "getset_descriptor wrapper_descriptor wrapper_descriptor"
    assert plain.run(code, env={"TORCHADA_DISABLE": "1"}, forked=True).stdout.strip() == expected


def test_the_slots_are_torchs_again_after_undo() -> None:
    records = [each for each in ENGINE.applied()["tensors.device_views"] if each.patch.name.startswith("tp_")]
    in_force = [each.owner.get(each.patch.name) for each in records]
    with torchada.disabled():
        assert [each.owner.get(each.patch.name) for each in records] == [each.before for each in records]
    assert len(in_force) == 2 and all(mine != each.before for mine, each in zip(in_force, records))


def test_the_native_mechanism_answers_in_c() -> None:
    assert STATE.context is not None
    (entry,) = [each for each in ENGINE.applied()["tensors.device_views"] if each.patch.name == "type"]
    in_c = type(entry.patch.replacement).__name__ == "getset_descriptor"
    assert in_c == STATE.context.mechanism.native == (os.environ.get("TORCHADA_NATIVE") != "0")


def test_an_error_of_a_decision_is_raised_where_it_was_asked_for() -> None:
    """The C functions call decisions in Python; what those do about their own errors is not C's affair."""
    from torchada.redirect.native import device_views as native

    if os.environ.get("TORCHADA_NATIVE") == "0":
        pytest.skip("this concerns the native mechanism")
    assert STATE.context is not None

    def fail(namespace: object) -> bool:
        raise ValueError("broken")

    module: Any = native._module()
    views = STATE.context.views
    names = {
        "__name__": "new",
        "entry": module.bind(torch.device("cuda"), "musa")["__str__"],
        "device": torch.device("cuda:3"),
    }
    module.ask({}, fail)
    try:
        with pytest.raises(ValueError, match="broken"):
            eval("entry(device)", names)
    finally:
        module.ask(views.table, views.decide)


@pytest.mark.parametrize("fault", ["bytes_of", "slots_of", "bind"])
def test_any_doubt_means_answers_in_python(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchada.redirect.native import device_views as native

    module = pytest.importorskip("torchada.redirect.native._device_views", reason="built without a compiler")
    wrong = {
        "bytes_of": lambda device: (0, 0),
        "slots_of": lambda kind: {"tp_str": 0, "tp_repr": 0},
        "bind": lambda *arguments: {"type": vars(torch.device)["__hash__"]},
    }

    class Faulty:
        def __getattr__(self, name: str) -> Any:
            return wrong[name] if name == fault else getattr(module, name)

    with torchada.disabled():
        monkeypatch.setattr(native, "_module", Faulty)
        from torchada.base import settings
        from torchada.views import Views

        with pytest.raises((RuntimeError, TypeError, AttributeError)):
            native.texts(torch, "meta", Views(settings.read(), "torch_musa"))
