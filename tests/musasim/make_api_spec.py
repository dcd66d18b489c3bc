"""Reduces the recorded API of torch_musa to the facts that test_api_surface.py compares: names, kinds, signatures.

python tests/musasim/make_api_spec.py /path/to/api.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SPEC = Path(__file__).with_name("torch_musa_api.json")

#: Subjects that musasim does not imitate (yet). The test lists their top-level names one by one.
OTHER_SUBJECTS = (
    "torch_musa._dynamo",
    "torch_musa._export",
    "torch_musa._inductor",
    "torch_musa.core.ao",
    "torch_musa.core.lowering",
    "torch_musa.core.ops",
    "torch_musa.multi_tensor_apply",
    "torch_musa.optim",
    "torch_musa.utils.",
)


def argument(entry: dict[str, Any]) -> str:
    """One argument, as written in a signature."""
    stars = {"var_positional": "*", "var_keyword": "**"}.get(entry["kind"], "")
    default = f"={entry['default_repr']}" if entry["has_default"] else ""
    return f"{stars}{entry['name']}{default}"


def signature(entries: list[dict[str, Any]]) -> list[str]:
    """All arguments, with the bare star before keyword-only ones."""
    written: list[str] = []
    for entry in entries:
        needs_star = entry["kind"] == "keyword_only" and not any(name.startswith("*") for name in written)
        written += ["*"] * needs_star + [argument(entry)]
    return written


def of_class(facts: dict[str, Any]) -> dict[str, Any]:
    methods = {name: [method["kind"], *signature(method["args"])] for name, method in facts.get("methods", {}).items()}
    return {"methods": methods, "properties": facts.get("properties", [])}


def of_module(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "functions": {name: signature(function["args"]) for name, function in facts["functions"].items()},
        "classes": {name: of_class(entry) for name, entry in facts["classes"].items()},
        "constants": sorted(facts["constants"]),
    }


def reduced(api: dict[str, Any]) -> dict[str, Any]:
    modules = {name: of_module(facts) for name, facts in api["modules"].items() if not name.startswith(OTHER_SUBJECTS)}
    top_level = {name: {"kind": facts["kind"], "when": facts["available"]} for name, facts in api["top_level"].items()}
    return {"source": api["source"], "top_level": top_level, "modules": modules}


def written(facts: Any, depth: int = 0) -> str:
    """JSON with a line for each function, class, list of constants and name at the top."""
    if depth > 3 or not isinstance(facts, dict) or all(isinstance(entry, str) for entry in facts.values()):
        return json.dumps(facts, sort_keys=True)
    start = f"\n{' ' * (depth + 1)}"
    return (
        f"{{{start}" + f",{start}".join(f'"{name}": {written(facts[name], depth + 1)}' for name in sorted(facts)) + "}"
    )


if __name__ == "__main__":
    SPEC.write_text(written(reduced(json.loads(Path(sys.argv[1]).read_text()))) + "\n")
