"""Counts of what `import torch` loads and searches on a MUSA machine. `benchmarks/startup.py` measures the times."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa

MODULES = "import json, sys; print(json.dumps(sorted(sys.modules)))"
# Packages of torchada that `import torch` does not need unless they are asked for.
LEFT_ALONE = ("cli", "control", "cpp_ops.", "names", "pages", "platforms", "porting", "telemetry", "testing", "utils")

COUNT = """
import collections, gc, importlib.metadata, json
from torchada.hooks import activation
from torchada.redirect import namespaces
counts = collections.Counter()
def counted(name, function):
    def call(*args, **kwargs):
        counts[name] += 1
        return function(*args, **kwargs)
    return call
namespaces.holders = counted("searches of every module", namespaces.holders)
find = importlib.metadata.entry_points
importlib.metadata.entry_points = lambda **options: (counts.update({options.get("group"): 1}), find(**options))[1]
collections_seen = lambda phase, info: counts.update({"collections": phase == "start"})
begin = activation._begin
def _begin(backend):
    import torch
    torch._C._jit_get_schemas_for_operator = counted("schemas", torch._C._jit_get_schemas_for_operator)
    gc.callbacks.append(collections_seen)
    begin(backend)
    gc.callbacks.remove(collections_seen)
activation._begin = _begin
import torch
print(json.dumps({**counts, "enabled": gc.isenabled(), "names": len(dir(torch._C._VariableFunctionsClass))}))
"""


def test_nothing_but_wrapt_is_loaded_beside_torch_and_torch_musa(musa: Interpreter) -> None:
    without = "import musasim; musasim.install(); import torch, torch_musa; " + MODULES
    plain = musa.json(without, env={"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    redirected = musa.json("import torch; " + MODULES)
    more = {
        name for name in set(redirected) - set(plain) if name.partition(".")[0] not in ("torchada", "_torchada_startup")
    }
    assert {name.partition(".")[0] for name in more} == {"wrapt"}


def test_packages_that_import_torch_does_not_need_are_not_loaded(musa: Interpreter) -> None:
    rooms = tuple(f"torchada.{room}" for room in LEFT_ALONE)
    assert [name for name in musa.json("import torch; " + MODULES) if name.startswith(rooms)] == []


def test_searches_are_few_under_the_native_mechanism(musa: Interpreter) -> None:
    counts = musa.json(COUNT, env={"TORCHADA_NATIVE": "1"})
    assert counts["searches of every module"] == 1 and "schemas" not in counts


def test_the_portable_mechanism_asks_for_the_schemas_of_each_name_about_once(musa: Interpreter) -> None:
    counts = musa.json(COUNT, env={"TORCHADA_NATIVE": "0"})
    assert counts["searches of every module"] == 2
    # Names of torch's functions; as many again are those of its other namespaces and methods.
    assert counts["schemas"] < 2 * counts["names"]


def test_entry_points_are_parsed_only_where_one_is_for_torchada(musa: Interpreter) -> None:
    assert "torchada.areas" not in musa.json(COUNT)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_paused_while_redirection_begins_and_then_restored(musa: Interpreter, enabled: bool) -> None:
    counts = musa.json(("" if enabled else "import gc; gc.disable()\n") + COUNT)
    assert counts.get("collections", 0) == 0 and counts["enabled"] is enabled
