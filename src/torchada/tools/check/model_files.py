"""The models of a project's config.json files, as transformers writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from torchada.tools.check import models
from torchada.tools.check.collect import File
from torchada.tools.check.findings import Finding
from torchada.tools.check.whole_project import WholeProject


def read(file: File, data: bytes, project: WholeProject) -> Iterator[Finding]:
    """The model of a config.json, as transformers writes it; any other is none of our business."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return
    parts = [content, *content.values()] if isinstance(content, dict) else []
    for part in parts:
        model = models.of_numbers(_called(content), part) if isinstance(part, dict) else None
        if model is not None:
            text = data.decode("utf-8", "replace")
            line = next((number for number, row in enumerate(text.split("\n"), 1) if _names_layers(row)), 1)
            yield models.finding(model)._replace(file=file.path, line=line)
            return


def _called(content: dict[str, Any]) -> str:
    architectures = content.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else content.get("model_type")
    return str(first or "a model")[:80]


def _names_layers(row: str) -> bool:
    return any(f'"{name}"' in row for name in models.LAYERS)
