"""Compares each name and signature of torch_musa with musasim's, for the release that MUSASIM_RELEASE names."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import musasim

musasim.install()

import torch  # noqa: E402
import torch_musa  # noqa: E402

from musasim.base import release  # noqa: E402
from support.plain_torch import plain_torch  # noqa: E402, F401

pytestmark = pytest.mark.once


def facts_of(chosen: str) -> dict[str, Any]:
    """What make_api_spec.py has written of a release: names at the top, and modules."""
    facts: dict[str, Any] = json.loads(Path(__file__).with_name("torch_musa_api.json").read_text())
    later = json.loads(Path(__file__).with_name("torch_musa_api_later.json").read_text()).get(chosen)
    if later is not None:
        kept = {name: entry for name, entry in facts["top_level"].items() if name not in later["removed"]}
        facts = {"top_level": kept | later["added"], "modules": facts["modules"] | later["modules"]}
    return facts


SPEC = facts_of(release.name())

DYNAMO = "torch._dynamo is not imported before the program does so, because that would multiply the import time"
FUSED = "kernels and operators that exist only in the vendor's torch"
LEFT_OUT: dict[str, str] = {
    "MusaInterface": DYNAMO,
    "backend": DYNAMO,
    "device_interface": DYNAMO,
    "get_registered_device_interfaces": DYNAMO,
    "i": DYNAMO,
    "musagraphs": DYNAMO,
    "register_interface_for_device": DYNAMO,
    "supported_ctx_manager_classes": DYNAMO,
    "trace_rules": DYNAMO,
    "variables": DYNAMO,
    "apply_lowering_patch": FUSED,
}

#: Names whose import takes long. The real package imports them itself; here they appear on first use, perhaps in this process.
LATE = {
    "BuildExtension": "torch.musa.BuildExtension",
    "MUSAExtension": "torch.musa.MUSAExtension",
    "musa_extension": "torch.musa.musa_extension",
    "_dynamo": "import torch._dynamo.device_interface",
    "_inductor": "from torch._inductor.codegen.common import init_backend_registration as register; register()",
}

NOTHING_TO_CHANGE = "PyPI's torch does already what the vendor's change makes it do, or has not got what it changes"
COPY_ENGINE = "the vendor's private package ce_comm, or the hooks by which it takes part"
#: Modules below torch_musa that are missing, by dotted name.
LEFT_OUT_BELOW: dict[str, str] = {
    "torch_musa.distributed.dtensor_patches": NOTHING_TO_CHANGE,
    "torch_musa.distributed.fsdp._init_utils": NOTHING_TO_CHANGE,
}
_TOOLS = {"torch_musa.profiler._pattern_matcher", "torch_musa.profiler._utils"}
#: Modules that change what torch 2.15 has no more.
WITHOUT_TARGET = set() if importlib.util.find_spec("torch.profiler._pattern_matcher") else _TOOLS
#: Subjects of which a later release's own facts are not written down, and those of 2.7.1 do not hold.
NOT_RECORDED = release.of({"2.7.1": (), "2.9.1": ("torch_musa.distributed",)})
_OVERLAP = "torch_musa.distributed._composable.fsdp.custom_overlap_patch"
_SCALER = "torch_musa.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler"
#: Names of modules and classes below torch_musa that are missing, by dotted name. The last is there, with torch's own arguments.
NAMES_LEFT_OUT: dict[str, str] = {
    "torch_musa.distributed.fsdp._runtime_utils._reduce_grad": NOTHING_TO_CHANGE,
    f"{_SCALER}._foreach_non_finite_check_and_unscale_cpu_": NOTHING_TO_CHANGE,
    **dict.fromkeys(
        (
            f"{_OVERLAP}.{name}"
            for name in (
                *("CECommAllGather", "CECommAllocMixin", "CECommReduceScatter", "_ce_comm_is_available", "logger"),
                *("_TORCH_MUSA_FSDP2_ENABLE_CE_COMM", "_TORCH_MUSA_FSDP2_ENABLE_CE_COMM_ENV", "_reduce_scatter_comm"),
                *("_backward_all_gather_comm", "_forward_all_gather_comm", "_MAYBE_NONOVERLAPPED_FSDP_LAYER_NUM"),
                *("_fsdp_state_init_shared_state", "_maybe_set_mccl_collectives", "_pre_forward"),
            )
        ),
        COPY_ENGINE,
    ),
    "torch_musa.distributed._composable.fsdp.patch.foreach_all_gather_non_overlap": "takes what each torch's own takes",
}

#: Names in torch.musa that the real package lacks, and modules and functions below it that differ there.
ADDED = {"__getattr__", "__simulated__"}


def visible(module: Any) -> set[str]:
    """The names of a module without those that every module has."""
    standard = set(dir(sys)) | {"__builtins__", "__cached__", "__file__", "__path__"}
    standard |= {"__annotate__", "__annotations__", "__conditional_annotations__"}
    return {name for name in dir(module) if not (name.startswith("__") and name in standard)}


@pytest.fixture(scope="module")
def initialised() -> None:
    torch.musa.synchronize()


def test_every_name_exists_or_is_listed_as_left_out(initialised: None) -> None:
    expected = set(SPEC["top_level"]) - set(LEFT_OUT) - set(LATE)
    assert sorted(expected - visible(torch.musa)) == []


def test_listed_names_are_missing(initialised: None) -> None:
    assert sorted(set(LEFT_OUT) & visible(torch.musa)) == []
    assert sorted(set(LEFT_OUT) - set(SPEC["top_level"])) == []


@pytest.mark.full
def test_late_names_appear_with_their_first_use() -> None:
    code = "import musasim; musasim.install(); import torch, torch_musa\n"
    code += f"assert not [name for name in {sorted(LATE)!r} if name in vars(torch.musa)]\n"
    code += "".join(f"{use}; assert {name!r} in vars(torch.musa)\n" for name, use in LATE.items())
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "TORCHADA_DISABLE": "1"})


#: Modules that `import torch_musa` does not load. They are names of it once something has imported them.
IMPORTED_LATER = {"_ext", "multi_tensor_apply", "optim"}


def test_no_name_is_added(initialised: None) -> None:
    assert visible(torch.musa) - set(SPEC["top_level"]) - IMPORTED_LATER == ADDED - set(SPEC["top_level"])


def test_names_that_initialisation_adds_are_absent_before() -> None:
    late = sorted(name for name, facts in SPEC["top_level"].items() if facts["when"] == "after lazy init")
    code = (
        "import musasim; musasim.install(); import torch, torch_musa\n"
        f"late = {late!r}\n"
        "assert not any(hasattr(torch.musa, name) for name in late)\n"
        "torch.musa.synchronize()\n"
        "assert all(hasattr(torch.musa, name) for name in late)\n"
    )
    assert late
    subprocess.run([sys.executable, "-c", code], check=True)


KINDS = {"class": inspect.isclass, "module": inspect.ismodule, "function": callable}


def shared_names() -> list[str]:
    return sorted(
        name for name, facts in SPEC["top_level"].items() if facts["kind"] in KINDS and name not in {*LEFT_OUT, *LATE}
    )


@pytest.mark.parametrize("name", shared_names())
def test_names_are_of_the_recorded_kind(name: str) -> None:
    assert KINDS[SPEC["top_level"][name]["kind"]](getattr(torch.musa, name))


def modules() -> list[str]:
    recorded = {name for name in SPEC["modules"] if not name.startswith(NOT_RECORDED)}
    return sorted(recorded - set(LEFT_OUT_BELOW) - WITHOUT_TARGET)


def present(owner: str, names: Iterable[str]) -> list[str]:
    """Those of the recorded names that are not listed as left out."""
    return [name for name in names if f"{owner}.{name}" not in NAMES_LEFT_OUT]


def found(dotted: str) -> Any:
    """The module. torch.backends.mudnn is wrapped by an object with properties."""
    importlib.import_module(dotted)
    return vars(sys.modules[dotted]).get("m", sys.modules[dotted])


def functions() -> list[tuple[str, str]]:
    pairs = [(module, name) for module in modules() for name in present(module, SPEC["modules"][module]["functions"])]
    return [(module, name) for module, name in pairs if not (module == "torch_musa" and name in LEFT_OUT)]


def classes() -> list[tuple[str, str]]:
    return [(module, name) for module in modules() for name in present(module, SPEC["modules"][module]["classes"])]


def value_of(written: str) -> Any:
    """Evaluate a default's source text, which comes from our own file."""
    return eval(written, {"torch": torch, "dist": torch.distributed, "sys": sys})


def written_signature(entries: list[str]) -> list[tuple[str, Any]]:
    """("name", default or `empty`) for each argument; "*name" and "**name" keep their stars."""
    pairs = [entry.partition("=") for entry in entries]
    return [(name, value_of(default) if equals else inspect.Parameter.empty) for name, equals, default in pairs]


def actual_signature(function: Any) -> list[tuple[str, Any]]:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    arguments = []
    for parameter in inspect.signature(function).parameters.values():
        keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if keyword_only and not any(name.startswith("*") for name, _ in arguments):
            arguments.append(("*", inspect.Parameter.empty))
        arguments.append((stars.get(parameter.kind, "") + parameter.name, parameter.default))
    return arguments


def plain(raw: Any) -> Any:
    """The function inside a decorator's object."""
    if isinstance(raw, property):
        return raw.fget
    return getattr(raw, "__func__", raw)


@pytest.mark.parametrize(("module", "name"), functions())
def test_functions_have_the_recorded_signature(module: str, name: str) -> None:
    function = plain(inspect.getattr_static(found(module), name))
    if name == "_is_musa" and module == "torch_musa.core.tensor_attrs":
        assert inspect.isbuiltin(function)  # native for speed, see the comment there
        return
    assert actual_signature(function) == written_signature(SPEC["modules"][module]["functions"][name])


@pytest.mark.parametrize(("module", "name"), classes())
def test_classes_have_the_recorded_methods(module: str, name: str) -> None:
    kind = getattr(found(module), name)
    assert kind.__module__ == module
    methods = SPEC["modules"][module]["classes"][name]["methods"]
    for method in present(f"{module}.{name}", methods):
        how, *arguments = methods[method]
        raw = inspect.getattr_static(kind, method)
        assert isinstance(raw, staticmethod) == (how == "staticmethod" or method == "__new__"), method
        if how != "classproperty":
            assert isinstance(raw, classmethod) == (how == "classmethod"), method
            assert actual_signature(plain(raw)) == written_signature(arguments), method
    for name_of_property in SPEC["modules"][module]["classes"][name]["properties"]:
        assert isinstance(inspect.getattr_static(kind, name_of_property), property)


@pytest.mark.parametrize("module", modules())
def test_constants_have_the_recorded_values(module: str) -> None:
    wanted = present(module, SPEC["modules"][module]["constants"])
    assert [name for name in wanted if not hasattr(found(module), name)] == []


@pytest.mark.parametrize("module", modules())
def test_no_public_name_is_added_below(module: str) -> None:
    own = {
        name
        for name, value in vars(found(module)).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module and not inspect.ismodule(value)
    }
    facts = SPEC["modules"][module]
    assert own - set(facts["functions"]) - set(facts["classes"]) - set(facts["constants"]) <= set(SPEC["top_level"])


@pytest.mark.parametrize("name", LEFT_OUT_BELOW)
def test_modules_left_out_are_missing(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


@pytest.mark.parametrize("name", NAMES_LEFT_OUT)
def test_names_left_out_below_are_missing_or_differ(name: str) -> None:
    owner, _, last = name.rpartition(".")
    differs = "foreach_all_gather" in last
    assert hasattr(resolve_name(owner), last) is differs
    assert last in str(
        SPEC["modules"][owner] if owner in SPEC["modules"] else SPEC["modules"][owner.rpartition(".")[0]]
    )


def test_torch_musa_attribute_is_no_importable_module() -> None:
    """It is an attribute only. A program that imports torch.musa fails with the real package, so it must fail here."""
    assert torch.musa is torch_musa and torch.musa.__name__ == "torch_musa"
    torch.zeros(1, device="musa")
    assert "torch.musa" not in sys.modules
    for statement in ("import torch.musa", "from torch.musa import Stream", "from torch.musa.amp import autocast"):
        with pytest.raises(ModuleNotFoundError):
            exec(statement)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch.musa")
    assert importlib.util.find_spec("torch.musa") is None
    assert not hasattr(torch.musa, "__all__")


def test_versions_are_those_of_the_release() -> None:
    expected = release.of({"2.7.1": "2.7.1", "2.9.1": "2.9.1.post1", "2.11.0": "2.11.0.post2"}) + "+musasim"
    assert torch_musa.__version__ == torch_musa.version.__version__ == expected and torch_musa.__simulated__
    assert torch.version.musa.isdigit()
