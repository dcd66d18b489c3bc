"""torch.cuda.is_available(): the device's answer for code that knows CUDA alone, torch's own for code that knows MUSA."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.musa

ASK = "import torch; print(torch.cuda.is_available())"
KNOWS = f"{ASK}; torch_musa = None"


@pytest.mark.full
@pytest.mark.parametrize(
    ("code", "env", "expected"),
    [
        (ASK, {}, True),
        (KNOWS, {}, False),
        (ASK, {"TORCHADA_VIEW": "musa"}, False),
        (KNOWS, {"TORCHADA_VIEW": "cuda"}, True),
        (KNOWS, {"TORCHADA_FORCE_CUDA_AVAILABLE": "1"}, True),
        (ASK, {"TORCHADA_FORCE_CUDA_AVAILABLE": "0"}, True),
        (ASK, {"MUSA_VISIBLE_DEVICES": ""}, False),
        (ASK, {"TORCHADA_FORCE_CUDA_AVAILABLE": "1", "MUSA_VISIBLE_DEVICES": ""}, False),
    ],
)
def test_the_answer_depends_on_what_the_program_knows(
    musa: Interpreter, tmp_path: Path, code: str, env: dict[str, str], expected: bool
) -> None:
    (tmp_path / "script.py").write_text(code)
    assert musa.run([str(tmp_path / "script.py")], env=env).stdout.strip() == str(expected)


@pytest.mark.full
@pytest.mark.parametrize(("code", "expected"), [(ASK, True), (KNOWS, False)])
def test_the_answer_depends_on_the_text_of_the_command_line(musa: Interpreter, code: str, expected: bool) -> None:
    assert musa.run(code, forked=True).stdout.strip() == str(expected)


def test_two_packages_get_each_their_own_answer(musa: Interpreter, tmp_path: Path) -> None:
    for name, text in {"plain": "", "aware": "is_musa = False"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"{text}\nfrom {name}.part import available")
        (tmp_path / name / "part.py").write_text("import torch\ndef available(): return torch.cuda.is_available()")
    code = """
        import json, aware, plain, torch, torchada
        found = [plain.available(), aware.available()]
        torchada.set_view("plain", "musa"), torchada.set_view("aware", "cuda")
        found += [plain.available(), aware.available()]
        torchada.set_view("plain", None), torchada.set_view("aware", None)
        found += [plain.available(), aware.available()]
        torchada.disable()
        print(json.dumps([*found, plain.available()]))
    """
    env = {"PYTHONPATH": str(tmp_path)}
    assert musa.json(code, env=env, forked=True) == [True, False, False, True, True, False, False]


@pytest.mark.parametrize("arguments", [("kornia", "amd"), ("kornia.color", "cuda"), ("", "cuda")])
def test_a_view_that_does_not_exist_is_refused(musa: Interpreter, arguments: tuple[str, str]) -> None:
    done = musa.run(f"import torchada; torchada.set_view{arguments}", check=False)
    assert "ValueError: set_view(" in done.stderr and "expected" in done.stderr


@pytest.mark.full
@pytest.mark.once
@pytest.mark.parametrize("native", ["0", "1"])
def test_the_function_can_be_pickled_and_looked_into(musa: Interpreter, native: str) -> None:
    """Under the native mechanism it is written in C."""
    code = """
        import inspect, json, pickle, torch, types
        asked = torch.cuda.is_available
        named = (asked.__module__, asked.__name__, bool(asked.__doc__), dict(inspect.signature(asked).parameters))
        same = pickle.loads(pickle.dumps(asked)) is asked
        print(json.dumps([*named, same, isinstance(asked, types.BuiltinFunctionType)]))
    """
    found = musa.json(code, env={"TORCHADA_NATIVE": native}, forked=True)
    assert found == ["torch.cuda", "is_available", True, {}, True, native == "1"]
