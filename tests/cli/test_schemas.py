"""Each JSON document that torchada writes follows the schema of its kind."""

from __future__ import annotations

import argparse
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.interpreter import Interpreter
from support.json_schemas import schema, validate
from torchada import __version__, cli
from torchada.report import schemas
from torchada.report.answers import OF_CALLS, OF_SOURCES

pytestmark = pytest.mark.once

STATUS = ["-m", "torchada", "status", "--json"]


def objects(found: Any) -> list[dict[str, Any]]:
    """Every part of a schema that describes an object with entries of its own."""
    parts = [found] if isinstance(found, dict) and "properties" in found else []
    inner = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [*parts, *(each for value in inner for each in objects(value))]


def test_every_kind_of_document_has_a_schema() -> None:
    names = {file.name for file in files(schemas).iterdir() if file.name.endswith(".json")}
    assert names == {f"{kind}.json" for kind in schemas.VERSIONS}


@pytest.mark.parametrize("kind", schemas.VERSIONS)
def test_a_schema_is_strict_and_has_the_envelope(kind: str) -> None:
    found = schema(kind)
    jsonschema.Draft202012Validator.check_schema(found)
    envelope = schemas.envelope(kind)
    assert list(found["required"][:4]) == list(envelope) == ["schema", "version", "torchada", "created"]
    assert found["properties"]["schema"]["const"] == envelope["schema"] == f"torchada-{kind}"
    assert found["properties"]["version"]["const"] == envelope["version"] == schemas.VERSIONS[kind]
    assert envelope["torchada"] == __version__
    assert all("additionalProperties" in each for each in objects(found)), "a new entry changes the schema too"
    for each in objects(found):
        assert each["additionalProperties"] is not False or set(each["required"]) == each["properties"].keys()


@pytest.mark.parametrize("kind", schemas.VERSIONS)
def test_a_schema_describes_every_entry(kind: str) -> None:
    entries = {name: entry for each in objects(schema(kind)) for name, entry in each["properties"].items()}
    assert [name for name, entry in entries.items() if not {"description", "const"} & entry.keys()] == []


def test_the_schema_of_run_knows_the_kinds_of_answers() -> None:
    assert set(schema("run")["$defs"]["kind"]["enum"]) == set(OF_CALLS)


def test_the_schema_of_check_knows_the_kinds_of_answers() -> None:
    (kind,) = [entry["properties"]["kind"] for entry in objects(schema("check")) if "kind" in entry["properties"]]
    assert set(kind["enum"]) == {*OF_SOURCES, ""}


@pytest.mark.full
@pytest.mark.parametrize("env", [{}, {"TORCHADA_DISABLE": "1"}, {"TORCHADA_NATIVE": "maybe", "TORCHADA_NOBODY": "1"}])
@pytest.mark.parametrize("options", [[], ["--probe"]])
def test_status_on_a_machine_without_device_fits_its_schema(
    plain: Interpreter, options: list[str], env: dict[str, str]
) -> None:
    validate(json.loads(plain.run([*STATUS, *options], env=env, check=False).stdout), "status")


@pytest.mark.musa
def test_status_of_a_redirected_process_fits_its_schema(musa: Interpreter) -> None:
    found = json.loads(musa.run([*STATUS, "--probe"], env={"TORCHADA_SKIP_AREAS": "precision.amp"}).stdout)
    validate(found, "status")
    assert {area["outcome"] for area in found["areas"]} == {"applied", "skipped"}


def test_status_with_a_failed_area_fits_its_schema(plain: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "torch_musa.py").write_text("raise ImportError('no driver')")
    done = Interpreter(env=plain.env, cwd=tmp_path).run([*STATUS, "--probe"], check=False)
    validate(json.loads(done.stdout), "status")
    assert json.loads(done.stdout)["problems"]


def commands_with_json() -> list[str]:
    """The commands that declare --json."""
    found = []
    for name in cli.COMMANDS:
        parser = argparse.ArgumentParser()
        cli._load(name).arguments(parser)
        found += [name] if any("--json" in option.option_strings for option in parser._actions) else []
    return found


# What keeps a command short; the others need nothing.
SHORT = {"check": ["."], "verify": ["--only", "pointwise.add.float32"], "bench": ["--only", "matmul.float16"]}


def test_commands_have_json() -> None:
    assert {"check", "verify", "bench", "doctor", "info", "explain", "status", "views"} <= set(commands_with_json())


@pytest.mark.full
@pytest.mark.parametrize("name", commands_with_json())
def test_what_a_command_prints_as_json_fits_its_schema(name: str, plain: Interpreter, tmp_path: Path) -> None:
    """Each names its schema in its help, too."""
    (tmp_path / "train.py").write_text("import torch\ntorch.zeros(2).cuda()\n")
    there = Interpreter(env=plain.env, cwd=tmp_path)
    done = there.run(["-m", "torchada", name, *SHORT.get(name, []), "--json"], check=False)
    document = json.loads(done.stdout)
    assert list(document)[:4] == list(schemas.envelope(name)) and document["schema"] == f"torchada-{name}"
    validate(document, name)
    said = " ".join(there.run(["-m", "torchada", name, "--help"]).stdout.split())
    assert f"torchada/report/schemas/{name}.json" in said


def test_what_the_check_of_a_backend_prints_as_json_fits_its_schema(plain: Interpreter) -> None:
    done = plain.run(["-m", "torchada.testing", "host", "--only", "devices.count", "--json"], check=False)
    validate(json.loads(done.stdout), "backend-check")


PROGRAM = """
import os, torch
x = torch.ones(2, device="cuda")
torch.cuda.synchronize()
torch.cuda.memory_snapshot()
with torch.autocast("cuda"):
    pass
try:
    torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x; }")
except NotImplementedError:
    pass
if os.fork() == 0:
    torch.cuda.device_count()
    os._exit(0)
os.wait()
"""


def test_the_list_of_views_fits_its_schema(plain: Interpreter) -> None:
    found = json.loads(plain.run(["-m", "torchada", "views", "--json", "-v"]).stdout)
    validate(found, "views")
    assert {"torch", "pytest"} <= {row["package"] for row in found["packages"]}


@pytest.mark.musa
def test_the_report_of_run_fits_its_schema(musa: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    musa.run(["-m", "torchada", "run", "--honest", "--report", "out.json", "train.py"])
    found = json.loads((tmp_path / "out.json").read_text())
    validate(found, "run")
    assert len(found["processes"]) == 2 and {use["kind"] for use in found["uses"]} >= {"same", "adapted", "untouched"}


def test_the_report_of_a_program_without_torch_fits_its_schema(plain: Interpreter, tmp_path: Path) -> None:
    plain.run(["-m", "torchada", "run", "--report", str(tmp_path / "out.json"), "-c", "pass"])
    validate(json.loads((tmp_path / "out.json").read_text()), "run")


@pytest.mark.parametrize("output", [[], ["-o", "out"]])
def test_the_report_of_port_fits_its_schema(plain: Interpreter, tmp_path: Path, output: list[str]) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.cu").write_text('cudaFree();\nasm("bar.sync 1, 64;");\nint x = __CUDA_ARCH__ + 1;\n')
    (tmp_path / "src/data.bin").write_bytes(b"\0")
    Interpreter(env=plain.env, cwd=tmp_path).run(["-m", "torchada", "port", "src", *output, "--report", "r.json"])
    found = json.loads((tmp_path / "r.json").read_text())
    validate(found, "port")
    assert {finding["kind"] for finding in found["findings"]} == {"unported", "check"}
    assert found["output"] == (str(tmp_path / "out") if output else None)
