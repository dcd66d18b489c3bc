"""Whether a document follows the schema of its kind."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema

from torchada.report import schemas


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of document."""
    found: dict[str, Any] = json.loads(files(schemas).joinpath(f"{kind}.json").read_text())
    return found


def validate(document: Any, kind: str) -> None:
    """Fail with what does not follow the schema."""
    checker = jsonschema.Draft202012Validator(schema(kind))
    faults = [f"{fault.json_path}: {fault.message}" for fault in checker.iter_errors(document)]
    assert faults == []
