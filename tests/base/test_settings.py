"""TORCHADA_ variables: whatever their values, the program goes on, and one warning names what was not understood."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import _torchada_startup
from support.interpreter import Interpreter
from torchada.base import misunderstood
from torchada.base import settings as _settings
from torchada.base.settings import (
    FLAG,
    OFF,
    ON,
    VARIABLES,
    Settings,
    read,
    variable,
)

pytestmark = pytest.mark.once

FLAGS = [known.name for known in VARIABLES if known.kind is FLAG]
# Any text is understood for the others; areas that do not exist are named when areas are applied.
PARTICULAR = [*(known.name for known in VARIABLES if known.kind.expected), "TORCHADA_SKIP_AREAS"]
# With a tiny torch, these tests concern only the hook.
TORCH = "loaded = True\n"
GARBAGE = "garbage \N{SNOWMAN}!"
VALUES = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20)


@pytest.fixture
def tiny(plain: Interpreter, tmp_path: Path) -> Interpreter:
    (tmp_path / "torch.py").write_text(TORCH)
    return Interpreter(env=plain.env, cwd=tmp_path)


def warned(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "torchada: " in line]


def test_read_without_variables_gives_the_defaults() -> None:
    assert read({}) == Settings()
    assert read({"PATH": "/bin", "XTORCHADA_STRICT": "1"}) == Settings()


def test_start_up_and_the_settings_agree_on_what_is_on() -> None:
    assert _torchada_startup.ON == ON and not set(ON) & set(OFF)


@pytest.mark.parametrize("value", ON)
@pytest.mark.parametrize("form", [str, str.upper, " {} ".format])
def test_read_understands_flags_that_are_on(value: str, form: type[str]) -> None:
    settings = read({name: form(value) for name in FLAGS})
    assert settings.disable and settings.simulate and settings.force_cuda_available and settings.strict
    assert settings.not_understood == settings.unknown == ()


@pytest.mark.parametrize("value", OFF)
def test_read_understands_flags_that_are_off(value: str) -> None:
    # Two flags are on unless they are switched off.
    assert read(dict.fromkeys(FLAGS, value)) == Settings(graph_rotation=value == "", all_dtypes=value == "")


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("TORCHADA_PLATFORM", "MUSA", "platform", "musa"),
        ("TORCHADA_PLATFORM", "my-npu_2", "platform", "my-npu_2"),
        ("TORCHADA_PLATFORM", "", "platform", "auto"),
        ("TORCHADA_NATIVE", "0", "native", "0"),
        ("TORCHADA_NATIVE", "1", "native", "1"),
        ("TORCHADA_NATIVE", "Auto", "native", "auto"),
        ("TORCHADA_SKIP_AREAS", "amp, cuda,,", "skip_areas", {"amp", "cuda"}),
        ("TORCHADA_LOG", "Calls", "log", "calls"),
        ("TORCHADA_CPP_OPS_PATH", "/x:/y/z:", "cpp_ops_path", ("/x", "/y/z")),
        ("TORCHADA_CACHE_DIR", "/x", "cache", "/x"),
        ("TORCHADA_VIEW", "CUDA", "view", "cuda"),
        ("TORCHADA_CUDA_CAPABILITY", "8.0", "cuda_capability", (8, 0)),
        ("TORCHADA_CUDA_CAPABILITY", "12.1", "cuda_capability", (12, 1)),
        ("TORCHADA_MUSA_VIEW", "xformers, mine", "musa_view", {"xformers", "mine"}),
        ("TORCHADA_EXCLUDE_DIRS", "/x, y:z,", "exclude_dirs", ("/x", "y", "z")),
        ("TORCHADA_TUNED_TABLES", "/x", "tuned_tables", "/x"),
        ("TORCHADA_RNG", "CUDA", "rng", "cuda"),
        ("TORCHADA_ALL_DTYPES", "0", "all_dtypes", False),
        ("TORCHADA_GRAPH_ROTATION", "0", "graph_rotation", False),
        ("TORCHADA_GRAPH_ROTATION", "", "graph_rotation", True),
        ("TORCHADA_GRAPH_EXEC_CAP", "12", "graph_exec_cap", 12),
        ("TORCHADA_GRAPH_EXEC_MARGIN", "12", "graph_exec_margin", 12),
        ("TORCHADA_REPORT", "/x/a.json:/x/b.html", "report", ("/x/a.json", "/x/b.html")),
    ],
)
def test_read_understands_values(name: str, value: str, field: str, expected: object) -> None:
    settings = read({name: value})
    assert getattr(settings, field) == expected
    assert settings.not_understood == ()


@pytest.mark.parametrize("name", [*FLAGS, "TORCHADA_PLATFORM", "TORCHADA_NATIVE", "TORCHADA_DISABLE_OP_OVERRIDE_ADD"])
def test_garbage_counts_as_not_set(name: str) -> None:
    assert read({name: GARBAGE}) == Settings(not_understood=(f"{name}={GARBAGE!r}",))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TORCHADA_STRICT", "1 or 0"),
        ("TORCHADA_DISABLE_OP_OVERRIDE_mm", "1 or 0"),
        ("TORCHADA_VIEW", "one of caller, cuda, musa"),
        ("TORCHADA_PLATFORM", "musa, npu, mlu, host, xpu, mps, cuda, cpu, the name of an installed backend, or auto"),
        ("TORCHADA_CUDA_VIEW", "top-level packages, separated by commas"),
        ("TORCHADA_CUDA_CAPABILITY", "one that an NVIDIA GPU has: 2.0, 2.1, 3.0"),
        ("TORCHADA_GRAPH_EXEC_CAP", "a number above 0"),
    ],
)
def test_a_warning_names_the_variable_the_value_and_what_was_expected(
    monkeypatch: pytest.MonkeyPatch, name: str, expected: str
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(misunderstood, "warn_once", lines.append)
    misunderstood.warn_about(read({name: GARBAGE}))
    (line,) = lines
    assert line.startswith(f"{name}={GARBAGE!r} is not understood and ignored; expected {expected}")


def test_settings_are_equal_and_hash_alike_where_their_values_are() -> None:
    some, same = (read({"TORCHADA_STRICT": "1", "TORCHADA_CUDA_VIEW": views}) for views in ("a,b", "b,a"))
    assert some == same and hash(some) == hash(same)
    assert read({"TORCHADA_STRICT": "0"}) == Settings(strict=False) == Settings()
    assert hash(Settings(strict=False)) == hash(Settings())
    others = [{"TORCHADA_STRICT": "1"}, {"TORCHADA_STRIKT": "1"}, {"TORCHADA_STRICT": GARBAGE}]
    others += [{"TORCHADA_DISABLE_OP_OVERRIDE_mm": "1"}]
    assert len({Settings(), *map(read, others)}) == 5


def test_settings_neither_change_nor_take_names_that_there_are_not() -> None:
    with pytest.raises(AttributeError):
        setattr(Settings(), "strict", True)  # noqa: B010
    with pytest.raises(KeyError, match="strikt"):
        Settings(strikt=True)


def test_read_lists_unknown_variables() -> None:
    settings = read({"TORCHADA_PLATTFORM": "musa", "TORCHADA_": "1", "TORCHADA_DISABLE_OP_OVERRIDE_": "1"})
    assert settings.unknown == ("TORCHADA_", "TORCHADA_DISABLE_OP_OVERRIDE_", "TORCHADA_PLATTFORM")


def test_op_overrides_are_known() -> None:
    assert read({"TORCHADA_DISABLE_OP_OVERRIDE_ADD": "1"}).disabled_ops == {"ADD"}
    assert read({"TORCHADA_DISABLE_OP_OVERRIDE_ADD": "0"}) == Settings()
    known = variable("TORCHADA_DISABLE_OP_OVERRIDE_ADD")
    assert known is not None and "ADD" in known.meaning


def test_marks_are_read_and_written_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for mark in (_settings.VISIBLE_DEVICES, _settings.COLLECTIVES):
        known = variable(mark.name)
        assert known is mark and known.kind.accepts(GARBAGE)
        monkeypatch.delenv(mark.name, raising=False)
        assert mark.read() is None
        mark.write("")
        assert mark.read() == "", "an empty value hides every device, and is not the same as none"
        mark.write(None)
        mark.write(None)
        assert mark.read() is None


@given(environment=st.dictionaries(st.sampled_from([known.name for known in VARIABLES]), VALUES))
def test_any_value_is_understood_or_named(environment: dict[str, str]) -> None:
    settings = read(environment)
    named = {entry.partition("=")[0] for entry in settings.not_understood}
    assert named <= environment.keys()
    # Each variable is checked by itself.
    assert named == {name for name, value in environment.items() if read({name: value}).not_understood}
    assert read({name: value for name, value in environment.items() if name not in named}).not_understood == ()


@given(name=st.text(st.characters(min_codepoint=33, max_codepoint=126, blacklist_characters="="), max_size=12))
def test_any_name_is_known_or_named(name: str) -> None:
    full = _settings.PREFIX + name
    assert (full in read({full: "1"}).unknown) == (variable(full) is None)


def test_every_variable_is_listed_with_a_meaning() -> None:
    assert all(known.name.startswith("TORCHADA_") and known.meaning for known in VARIABLES)
    assert len({known.name for known in VARIABLES}) == len(VARIABLES)


@pytest.mark.parametrize("name", [*PARTICULAR, "TORCHADA_NOBODY_KNOWS"])
def test_garbage_is_named_in_one_warning_and_the_program_goes_on(tiny: Interpreter, name: str) -> None:
    done = tiny.run("import torch, torchada; torchada.enable(); print(torch.loaded)", env={name: GARBAGE})
    assert done.stdout.strip() == "True"
    assert len(warned(done)) == 1 and name in warned(done)[0], done.stderr


def test_garbage_in_every_variable_does_not_break_the_import(tiny: Interpreter) -> None:
    done = tiny.run("import torch; print(torch.loaded)", env=dict.fromkeys(PARTICULAR, GARBAGE))
    assert done.stdout.strip() == "True"
    assert len(warned(done)) == len(PARTICULAR)
    assert all(any(name in line for line in warned(done)) for name in PARTICULAR)


def test_an_unknown_platform_ends_in_one_warning(tiny: Interpreter) -> None:
    done = tiny.run("import torch; print(torch.loaded)", env={"TORCHADA_PLATFORM": "quux"})
    assert done.stdout.strip() == "True"
    assert len(warned(done)) == 1 and "'quux'" in warned(done)[0]


def test_a_platform_that_is_not_installed_ends_in_one_warning(tiny: Interpreter) -> None:
    code = "import sys; sys.modules['torch_musa'] = None; import torch; print(torch.loaded)"
    done = tiny.run(code, env={"TORCHADA_PLATFORM": "musa"})
    assert done.stdout.strip() == "True"
    assert len(warned(done)) == 1 and "torch_musa is not installed" in warned(done)[0]


def test_warnings_as_errors_do_not_break_the_import(tiny: Interpreter) -> None:
    code = "import torch; print(torch.loaded)"
    done = tiny.run(["-W", "error", "-c", code], env={"TORCHADA_NATIVE": GARBAGE, "TORCHADA_NOBODY_KNOWS": "1"})
    assert done.stdout.strip() == "True"
    assert len(warned(done)) == 2


@pytest.mark.parametrize("filters", ["always", "error", "ignore"])
def test_the_same_message_is_printed_once(plain: Interpreter, filters: str) -> None:
    code = "from torchada.base.warnings import said, warn_once; warn_once('a'); warn_once('a'); print(said())"
    done = plain.run(["-W", filters, "-c", code])
    assert done.stdout.strip() == "['a']" and len(warned(done)) == (0 if filters == "ignore" else 1)


def test_a_program_without_stderr_gets_no_warning_and_goes_on(tiny: Interpreter) -> None:
    code = "import sys; sys.stderr = None; import torch; print(torch.loaded)"
    assert tiny.run(["-W", "error", "-c", code], env={"TORCHADA_NATIVE": GARBAGE}).stdout.strip() == "True"


def test_no_warning_is_given_where_torch_is_not_imported(tiny: Interpreter) -> None:
    done = tiny.run("import json", env={"TORCHADA_NATIVE": GARBAGE, "TORCHADA_NOBODY_KNOWS": "1"})
    assert done.stderr == ""


def test_no_warning_is_given_where_torchada_is_disabled(tiny: Interpreter) -> None:
    done = tiny.run("import torch", env={"TORCHADA_DISABLE": "1", "TORCHADA_NATIVE": GARBAGE})
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "value", "remark"),
    [
        ("TORCHADA_NATIVE", GARBAGE, "not understood"),
        ("TORCHADA_NOBODY_KNOWS", "1", "unknown"),
        ("TORCHADA_DISABLE_OP_OVERRIDE_ADD", "maybe", "not understood"),
    ],
)
def test_status_marks_variables_that_are_unknown_or_not_understood(
    tiny: Interpreter, name: str, value: str, remark: str
) -> None:
    out = tiny.run(["-m", "torchada.hooks", "status"], env={name: value}, check=False).stdout
    (line,) = [line for line in out.splitlines() if line.strip().startswith(name)]
    assert remark in line


@pytest.mark.parametrize(
    ("name", "value"), [("TORCHADA_PLATFORM", "quux"), ("TORCHADA_SKIP_AREAS", "quux"), ("TORCHADA_PLATFORM", "musa")]
)
def test_status_warns_of_names_that_do_not_exist(tiny: Interpreter, name: str, value: str) -> None:
    (tiny.cwd / "torch_musa.py").write_text("raise ImportError")  # type: ignore[operator]
    out = tiny.run(["-m", "torchada.hooks", "status", "--probe"], env={name: value}, check=False).stdout
    assert [line for line in out.splitlines() if line.startswith(("warning", "problem"))]
