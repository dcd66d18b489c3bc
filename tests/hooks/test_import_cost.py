"""Counts of what `import torch` loads and searches on a MUSA machine. `benchmarks/startup.py` measures the times."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from support import vendor_python
from support.interpreter import TORCH, Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.once]

MODULES = "import json, sys; print(json.dumps(sorted(sys.modules)))"
# Packages of torchada that `import torch` does not need unless they are asked for.
LEFT_ALONE = (
    "areas.kernels.overrides.",
    "cli",
    "compat",
    "control",
    "porting",
    "report",
    "telemetry",
    "testing",
    "tools",
    "utils",
)

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
print(json.dumps({**counts, "enabled": gc.isenabled(), "names": len(dir(torch._C._VariableFunctionsClass)),
    "for CUDA": "+cu" in torch.__version__}))
"""


@pytest.mark.full
def test_nothing_but_wrapt_is_loaded_beside_torch_and_torch_musa(musa: Interpreter) -> None:
    simulator = "" if vendor_python.VARIABLE in os.environ else "import musasim; musasim.install(); "
    without = f"{simulator}import torch, torch_musa; {MODULES}"
    plain = musa.json(without, env={"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    redirected = musa.json("import torch; " + MODULES)
    more = {
        name for name in set(redirected) - set(plain) if name.partition(".")[0] not in ("torchada", "_torchada_startup")
    }
    # Small modules, which torch_musa's own Python does not load: the simulator's loads the first, and the second is what
    # Inductor has to know of the CPU, where torch_musa has loaded Inductor.
    small = {"torch.backends.cudnn.rnn", "torch._inductor.codegen.cpu_device_op_overrides"}
    assert {name.partition(".")[0] for name in more - small} == {"wrapt"}


def test_packages_that_import_torch_does_not_need_are_not_loaded(musa: Interpreter) -> None:
    rooms = tuple(f"torchada.{room}" for room in LEFT_ALONE)
    assert [name for name in musa.json("import torch; " + MODULES) if name.startswith(rooms)] == []


@pytest.mark.full
def test_the_porter_is_not_loaded_with_what_torch_musa_imports(musa: Interpreter, tmp_path: Path) -> None:
    """The real torch_musa imports torch.utils.cpp_extension in every process; CUDA_HOME is only looked up, once it exists."""
    code = "import torch, torch.utils.cpp_extension as built; assert built.CUDA_HOME; " + MODULES
    env = {"TORCHADA_CACHE_DIR": str(tmp_path)}
    first, later = (musa.json(code, env=env) for _ in range(2))
    assert "torchada.porting" in first, "the folder is made"
    assert [name for name in later if name.startswith("torchada.porting")] == []


def test_searches_are_few_under_the_native_mechanism(musa: Interpreter) -> None:
    counts = musa.json(COUNT, env={"TORCHADA_NATIVE": "1"})
    # Builds for CUDA have a C function that torch_musa lacks and that other modules may hold.
    assert counts["searches of every module"] == 1 + counts["for CUDA"] and "schemas" not in counts


def test_the_portable_mechanism_asks_for_few_schemas(musa: Interpreter) -> None:
    counts = musa.json(COUNT, env={"TORCHADA_NATIVE": "0"})
    assert counts["searches of every module"] == 2 + counts["for CUDA"]
    # The stubs answer for most of torch's own functions; the schemas are asked for methods and for its other namespaces.
    assert counts["schemas"] < counts["names"]


WORK = """
import collections, json, sys
from torchada.base import plugins
from torchada.hooks import activation
plugins._find = lambda group: ()  # takes twenty calls for each package that is installed
counts, begin, fallbacks = collections.Counter(), activation._begin, []
def _begin(backend):
    import torch
    module = torch._C._DispatchModule
    fallback = module.fallback
    module.fallback = lambda *args: (fallbacks.append(str(args[1])), fallback(*args))[1]
    sys.setprofile(lambda frame, event, argument: counts.update({event: 1}))
    begin(backend)
    sys.setprofile(None)
    module.fallback = fallback
activation._begin = _begin
import torch
ours = [name for name in sys.modules if name.partition(".")[0] in ("torchada", "_torchada_startup")]
print(json.dumps({"calls": counts["call"], "modules": len(ours), "fallbacks": fallbacks}))
"""


@pytest.mark.parametrize(("native", "calls"), [("1", 42_500), ("0", 52_000)])
def test_little_python_runs(musa: Interpreter, native: str, calls: int) -> None:
    """Each module takes a tenth of a millisecond, and registering a fallback goes through all operators of torch."""
    work = musa.json(WORK, env={"TORCHADA_NATIVE": native})
    more = 2 if torch.version.cuda else 0  # for functions in C that builds without CUDA do not have
    more += 2 if TORCH >= (2, 15) else 0  # for torch.cuda.graph_annotations, and for how it looks for libraries
    assert work["modules"] <= 208 + more and work["calls"] <= calls + 50 * more and work["fallbacks"] == []


WAITING = """
import json, torch, torchada
key, answers = torch._C.DispatchKey.SparsePrivateUse1, []
def answer():
    answers.append(torch._C._dispatch_has_backend_fallback(key))
answer()
torchada.disable()
torch.musa._lazy_init()
answer()
torchada.enable()
answer()
torchada.disable()
answer()
print(json.dumps(answers))
"""


def test_a_fallback_that_waits_for_the_device_is_undone_and_comes_again(musa: Interpreter) -> None:
    assert musa.json(WAITING) == [False, False, True, False]


@pytest.mark.full
def test_a_fallback_is_there_when_the_device_is_used(musa: Interpreter) -> None:
    code = "import torch; {}print(int(torch._C._dispatch_has_backend_fallback(torch._C.DispatchKey.SparsePrivateUse1)))"
    assert [musa.json(code.format(first)) for first in ("", "torch.ones(1, device='cuda'); ")] == [0, 1]


DATA_CLASSES = """
import json, sys, torch
modules = [module for name, module in sys.modules.items() if name.startswith("torchada")]
classes = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
print(json.dumps(sorted(str(each) for each in classes if "__dataclass_params__" in vars(each))))
"""


@pytest.mark.full
@pytest.mark.parametrize("before", ["", vendor_python.IMPORTS_THE_BUILDER], ids=["alone", "with cpp_extension"])
def test_no_data_class_is_made(musa: Interpreter, before: str) -> None:
    """The standard library compiles the functions of each one anew in every process."""
    assert musa.json(before + DATA_CLASSES) == []


def test_what_torch_musa_imports_looks_for_no_toolkit(musa: Interpreter) -> None:
    """The real torch_musa imports torch.utils.cpp_extension in every process; that somebody builds is seen later."""
    loaded = musa.json(f"{vendor_python.IMPORTS_THE_BUILDER}import torch; {MODULES}")
    assert "torch.utils.cpp_extension" in loaded
    assert {"torchada.building.toolkit", "torchada.building.cuda_home", "torchada.base.caches"} & set(loaded) == set()


SIGNATURES = """
import inspect, json
from torchada.hooks import activation
begin, read, functions = activation._begin, inspect.signature, []
def _begin(backend):
    inspect.signature = lambda function, **options: (functions.append(str(function)), read(function, **options))[1]
    begin(backend)
    inspect.signature = read
activation._begin = _begin
import torch
print(json.dumps(functions))
"""


def test_hardly_any_signature_is_read(musa: Interpreter) -> None:
    assert len(musa.json(SIGNATURES)) < 12


def test_entry_points_are_parsed_only_where_one_is_for_torchada(musa: Interpreter) -> None:
    assert "torchada.areas" not in musa.json(COUNT)


@pytest.mark.full
@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_paused_while_redirection_begins_and_then_restored(musa: Interpreter, enabled: bool) -> None:
    counts = musa.json(("" if enabled else "import gc; gc.disable()\n") + COUNT)
    assert counts.get("collections", 0) == 0 and counts["enabled"] is enabled


COLLECTIONS = """
import gc, json
from torchada.hooks import activation
seen, follow = [], activation.follow
def counted(name, execute, finder):
    before = [each["collections"] for each in gc.get_stats()]
    follow(name, execute, finder)
    seen.append((name, [each["collections"] - count for each, count in zip(gc.get_stats(), before)]))
activation.follow = counted
import torch
print(json.dumps([counts for name, counts in seen if name == "torch"]))
"""


def test_nothing_is_collected_while_torch_is_imported(musa: Interpreter) -> None:
    ((youngest, *older),) = musa.json(COLLECTIONS)
    # CPython 3.12 visits the few objects that are made as the pause ends.
    assert youngest <= 1 and not any(older)
