"""All changes can be undone exactly, and made again."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa

# Every dictionary that a patch touches, by identity of owner and of each raw entry, in order.
SNAPSHOT = """
import gc
import torchada, torch
from torchada.redirect.engine import ENGINE

def entries(owner):
    if isinstance(owner, type):
        (real,) = gc.get_referents(vars(owner))
        return real
    return owner if isinstance(owner, dict) else getattr(owner, "__dict__", {})

def owners():
    found = [r.patch.owner for done in ENGINE.applied().values() for r in done]
    return {id(o): o for o in found if not hasattr(type(o), "__torchada_owner__")}  # some are made when an attribute is asked

def snapshot(owners):
    return {key: [(name, id(value)) for name, value in entries(owner).items()] for key, owner in owners.items()}

def slots():
    return [r.owner.read() for done in ENGINE.applied().values() for r in done if hasattr(r.owner, "read")]
"""


def test_undo_restores_every_entry_and_enable_redirects_again(musa: Interpreter) -> None:
    found = musa.json(
        SNAPSHOT
        + """
import json
touched = owners()
applied, slots_applied = snapshot(touched), slots()
torchada.disable()
undone = snapshot(touched)
stray = [name for name in ("cuda", "to", "is_cuda") if name in vars(torch.Tensor) and name != "to"]
left = sorted(m for m, v in vars(torch.cuda).items() if str(getattr(v, "__module__", "")).startswith("torchada"))
torchada.enable()
touched_again = owners()
torchada.disable()
undone_again = snapshot(touched)
torchada.enable()
print(json.dumps({
    "touched": len(touched), "changed": applied != undone, "same_twice": undone == undone_again, "stray": stray, "left": left,
    "owners": set(touched) == set(touched_again), "works": str(torch.zeros(1, device="cuda").device),
}))
""",
        forked=True,
    )
    assert found["touched"] > 10
    assert found["changed"] and found["same_twice"] and found["owners"]
    assert found["stray"] == [] and found["left"] == []
    assert found["works"] == "cuda:0"


@pytest.mark.full
def test_undo_leaves_what_native_torch_musa_leaves(musa: Interpreter) -> None:
    """The dictionaries after undo are, name by name and object kind by object kind, those of a process without torchada."""
    look = """
import json, gc, types, torch, torch_musa, torch.jit, torch.utils.cpp_extension
plain = (types.FunctionType, types.BuiltinFunctionType, type)
def identity(value):
    return [value.__module__, value.__qualname__] if isinstance(value, plain) else []
def kinds(owner):
    entries = gc.get_referents(vars(owner))[0] if isinstance(owner, type) else vars(owner)
    return [[name, type(value).__name__, *map(str, identity(value))] for name, value in entries.items()
            if not name.startswith("__") or name in ("__new__", "__init__", "__reduce__")]
places = [torch, torch.cuda, torch.Tensor, torch._C.TensorBase, torch.device, torch._C.Generator, torch.UntypedStorage,
          torch._C._VariableFunctionsClass, torch._C._nn, torch._C._fft, torch.amp, torch.amp.autocast_mode, torch.autocast,
          torch.amp.GradScaler, torch.random, torch.serialization, torch.cuda.memory, torch.cuda.random, torch.storage.TypedStorage]
print(json.dumps([kinds(p) for p in places]))
"""
    undone = musa.json("import torchada, torch; torch.zeros(1, device='cuda'); torchada.disable()\n" + look)
    native = musa.json(
        "import musasim; musasim.install()\nimport torch, torch_musa; torch.zeros(1, device='musa')\n" + look,
        env={"TORCHADA_DISABLE": "1"},
    )
    for ours, theirs in zip(undone, native):
        assert {tuple(entry) for entry in ours} == {tuple(entry) for entry in theirs}


def test_disabled_switches_redirection_off_within_its_block(musa: Interpreter) -> None:
    musa.run(
        """
        import pytest, torch, torchada
        assert torchada.is_patched()
        with torchada.disabled():
            assert not torchada.is_patched()
            assert torch.device("cuda").type == "cuda"
            with pytest.raises((AssertionError, RuntimeError)):
                torch.zeros(1, device="cuda")
            assert torch.zeros(1, device="musa").is_musa
        assert torch.zeros(1, device="cuda").is_cuda
        torchada.disable(); torchada.disable()
        torchada.enable(); torchada.enable()
        assert torch.zeros(1, device="cuda").is_cuda
        """,
        forked=True,
    )


def test_enable_brings_back_the_same_functions(musa: Interpreter) -> None:
    """torch.compile's tables and the caches of torch.overrides know functions by identity."""
    musa.run(
        """
        import torch, torchada, warnings
        from torch.overrides import get_overridable_functions, resolve_name

        def asked(x):
            return x * 2 if torch.is_autocast_enabled("cuda") else x * torch.cuda.get_device_properties().multi_processor_count

        def check():
            torch._dynamo.reset()
            x = torch.ones(1, device="cuda")
            assert torch.compile(asked, backend="eager", fullgraph=True)(x).equal(asked(x))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert torch.zeros_like in get_overridable_functions()[torch]
                assert resolve_name(torch.zeros_like) == "torch.zeros_like"

        check()
        before = [torch.zeros, torch.cuda.get_device_properties, torch.Tensor.cuda, torch.is_autocast_enabled, torch.load]
        with torchada.disabled():
            pass
        after = [torch.zeros, torch.cuda.get_device_properties, torch.Tensor.cuda, torch.is_autocast_enabled, torch.load]
        assert all(one is other for one, other in zip(before, after, strict=True))
        check()
        """,
        forked=True,
    )


def test_an_entry_changed_while_disabled_is_redirected_as_it_is_now(musa: Interpreter) -> None:
    musa.run(
        """
        import torch, torchada
        with torchada.disabled():
            original, seen = torch.load, []
            torch.load = lambda *args, **kwargs: (seen.append(str(kwargs["map_location"])), original(*args, **kwargs))[1]
        torch.save(torch.ones(2), "file.pt")
        assert torch.load("file.pt", map_location="cuda").is_cuda and len(seen) == 1
        with torchada.disabled():
            torch.load = original
        assert torch.load("file.pt", map_location="cuda").is_cuda and len(seen) == 1
        """,
        forked=True,
    )


def test_an_entry_put_over_a_patch_by_others_stays(musa: Interpreter) -> None:
    musa.run(
        """
        import torch, torchada
        mine = lambda: 7
        torch.cuda.device_count = mine
        torchada.disable()
        assert torch.cuda.device_count is mine
        """,
        forked=True,
    )
