"""Backends and areas of third parties, added by entry points: loaded when they are needed, and harmless when they are broken."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from support.interpreter import Interpreter
from support.tiers import rarely

pytestmark = pytest.mark.once

# An adapter that registers a device with PyTorch and nothing else.
ADAPTER = """
import sys, types
import torch

torch.utils.rename_privateuse1_backend("toy")
namespace = types.ModuleType("torch.toy")
namespace.is_available = lambda: True
namespace.device_count = lambda: 1
namespace.current_device = lambda: 0
namespace.get_device_properties = lambda device: None
namespace.synchronize = lambda device=None: "toy"
torch._register_device_module("toy", namespace)
torch.utils.generate_methods_for_privateuse1_backend(unsupported_dtype=None)
executed = True
"""
BACKEND = """
from torchada.backends.descriptor import Backend
backend = Backend(
    name="toy", device_type="toy", adapter="torch_toy", namespace="toy", visible_devices="TOY_VISIBLE_DEVICES"
)
"""
AREA = """
import sys
AREAS = {"torch": ("own",)}
sys.stdout.write("area read\\n")

def own(context):
    from torchada.redirect.engine import Patch
    yield Patch(context.torch, "third_party", context.backend.name, "a test")
"""
USED = "import torch; print(getattr(torch, 'third_party', None), torch.device('cuda').type)"
STATUS = ["-m", "torchada.hooks", "status", "--all", "--probe"]


class Plugin:
    """A distribution in a folder of its own, with modules and entry points."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, list[str]] = {"torchada.backends": [], "torchada.areas": []}

    def module(self, name: str, body: str) -> None:
        (self.folder / f"{name}.py").write_text(textwrap.dedent(body))

    def area(self, name: str, body: str, module: str | None = None) -> None:
        """Add an area in a module of its own."""
        self.module(module or f"area_{name}", body)
        self._add("torchada.areas", f"{name} = {module or f'area_{name}'}")

    def backend(self, name: str, target: str) -> None:
        self._add("torchada.backends", f"{name} = {target}")

    def _add(self, group: str, line: str) -> None:
        self.entries[group].append(line)
        info = self.folder / "plugin-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
        text = "".join(f"[{group}]\n" + "\n".join(lines) + "\n" for group, lines in self.entries.items() if lines)
        (info / "entry_points.txt").write_text(text)


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


@pytest.fixture
def toy(plugin: Plugin, tmp_path: Path) -> Interpreter:
    """An interpreter in which a third party's backend is installed and chosen."""
    plugin.module("torch_toy", ADAPTER)
    plugin.module("toy_backend", BACKEND)
    plugin.backend("toy", "toy_backend:backend")
    return Interpreter(cwd=tmp_path, env={"TORCHADA_PLATFORM": "toy"})


def test_a_third_party_backend_is_used(toy: Interpreter) -> None:
    code = "import torch; print(torch.device('cuda:1'), torch.cuda.synchronize())"
    done = toy.run(code)
    assert done.stdout.strip() == "cuda:1 toy" and done.stderr == ""


@pytest.mark.full
@pytest.mark.parametrize("first", rarely(["torch_toy", "torchada", "torchada, torch_toy"], "torchada, torch_toy"))
def test_the_adapter_of_a_third_party_may_be_imported_first(toy: Interpreter, first: str) -> None:
    """The adapter's name is not known at start-up, so its execution has begun already when torch arrives in the middle of it."""
    done = toy.run(f"import {first}, torch; print(torch.zeros(1).is_cuda, torch.cuda.synchronize())")
    assert done.stdout.strip() == "False toy" and done.stderr == ""


def test_status_shows_a_third_party_backend(toy: Interpreter) -> None:
    out = toy.run(STATUS).stdout
    assert "platform        toy: TORCHADA_PLATFORM=toy" in out
    assert "torch_toy of unknown version (real, not imported)" not in out and "torch_toy" in out


def test_a_backend_that_is_not_chosen_is_not_loaded(plugin: Plugin, toy: Interpreter) -> None:
    plugin.module("toy_backend", "raise AssertionError('read')")
    done = Interpreter(cwd=toy.cwd).run("import torch, sys; print('toy_backend' in sys.modules)")
    assert done.stdout.strip() == "False" and done.stderr == ""


@pytest.mark.full
@pytest.mark.parametrize(
    ("body", "reason"),
    [("1 / 0", "ZeroDivisionError"), ("", "AttributeError"), ("backend = 'toy'", "expected a torchada")],
)
def test_a_broken_backend_ends_in_a_warning(plugin: Plugin, toy: Interpreter, body: str, reason: str) -> None:
    plugin.module("toy_backend", body)
    done = toy.run("import torch; print(torch.zeros(1).device)")
    assert done.stdout.strip() == "cpu"
    assert reason in done.stderr and "'toy'" in done.stderr


def test_a_backend_without_its_adapter_ends_in_a_warning(toy: Interpreter) -> None:
    (toy.cwd / "torch_toy.py").unlink()  # type: ignore[operator]
    done = toy.run("import torch; print(torch.zeros(1).device)")
    assert done.stdout.strip() == "cpu" and "torch_toy is not installed" in done.stderr


def test_start_up_reads_no_entry_points(plugin: Plugin, toy: Interpreter) -> None:
    plugin.area("mine", AREA)
    code = "import sys; print({'toy_backend', 'area_mine', 'importlib.metadata'} & sys.modules.keys())"
    assert toy.run(code).stdout == "set()\n"


def test_a_third_party_area_is_applied(plugin: Plugin, toy: Interpreter) -> None:
    plugin.area("mine", AREA)
    assert toy.run(USED).stdout.splitlines() == ["area read", "toy cuda"]


def test_a_third_party_area_is_applied_last_and_shown_in_status(plugin: Plugin, toy: Interpreter) -> None:
    plugin.area("mine", AREA)
    lines = toy.run(STATUS).stdout.splitlines()
    areas = [line.split() for line in lines[lines.index("areas") + 1 :] if line.startswith("    ")]
    ours = [fields[0] for fields in areas].index("mine.own")
    assert areas[ours] == ["mine.own", "applied", "1", "patch"]
    assert all(fields[0] != "tensors.device" for fields in areas[ours:])


def test_a_third_party_area_may_skip_itself(plugin: Plugin, toy: Interpreter) -> None:
    plugin.area(
        "mine",
        "from torchada.redirect.engine import Skip\nAREAS = {'torch': ['own']}\ndef own(context): raise Skip('why')",
    )
    done = toy.run(STATUS)
    assert ["mine.own", "skipped", "why"] in [line.split() for line in done.stdout.splitlines()]


@pytest.mark.full
def test_an_area_is_applied_when_its_module_is_imported_later(plugin: Plugin, toy: Interpreter) -> None:
    plugin.module("late_module", "value = 1")
    plugin.area(
        "mine",
        """
        import sys
        AREAS = {"late_module": ("own",)}
        def own(context):
            from torchada.redirect.engine import Patch
            yield Patch(sys.modules["late_module"], "value", 2, "a test")
        """,
    )
    code = "import torch, sys; assert 'late_module' not in sys.modules; import late_module; print(late_module.value)"
    assert toy.run(code).stdout.strip() == "2"
    assert toy.run("import late_module, torch; print(late_module.value)").stdout.strip() == "2"


BROKEN = {
    "cannot be imported": ("1 / 0", "ZeroDivisionError"),
    "no table": ("def own(context): return []", "AREAS is None"),
    "areas are a string": ("AREAS = {'torch': 'own'}\ndef own(context): return []", "AREAS is {'torch': 'own'}"),
    "no such area": ("AREAS = {'torch': ('own',)}", "'area_broken.own'"),
}


@pytest.mark.full
@pytest.mark.parametrize(("body", "reason"), BROKEN.values(), ids=list(BROKEN))
def test_a_broken_area_ends_in_a_warning_and_the_others_are_applied(
    plugin: Plugin, toy: Interpreter, body: str, reason: str
) -> None:
    plugin.area("broken", body)
    plugin.area("mine", AREA)
    done = toy.run(USED)
    assert done.stdout.splitlines()[-1] == "toy cuda"
    (warning,) = [line for line in done.stderr.splitlines() if "torchada: " in line]
    assert "'broken" in warning and reason in warning


def test_status_reports_a_broken_area(plugin: Plugin, toy: Interpreter) -> None:
    plugin.area("broken", "1 / 0")
    lines = toy.run(STATUS[:-1]).stdout.splitlines()
    assert any(line.startswith("warning") and "'broken'" in line for line in lines)


@pytest.mark.full
@pytest.mark.parametrize("skipped", ["mine", "mine.own"])
def test_a_wing_and_its_area_are_skipped_by_name(plugin: Plugin, toy: Interpreter, skipped: str) -> None:
    plugin.area("mine", AREA)
    done = toy.run(USED, env={"TORCHADA_SKIP_AREAS": skipped})
    assert done.stdout.splitlines()[-1] == "None cuda" and done.stderr == ""


def test_a_wing_with_the_name_of_one_of_ours_is_left_out(plugin: Plugin, toy: Interpreter) -> None:
    plugin.area("tensors", AREA)
    done = toy.run(USED)
    assert done.stdout.splitlines()[-1] == "None cuda"
    assert "'tensors'" in done.stderr and "of that name itself" in done.stderr
