"""Reduces the recorded API of torch_musa to the facts that test_api_surface.py compares: names, kinds, signatures.

python tests/musasim/make_api_spec.py /path/to/api.json /path/to/api-2.11.json

The second file has the facts of 2.11.0.post2, with the release in which each module was read. What is written of a later release is
what differs from 2.7.1: names at the top, and whole modules.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SPEC = Path(__file__).with_name("torch_musa_api.json")
LATER = Path(__file__).with_name("torch_musa_api_later.json")

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
    all_of_it = facts.get("methods", {})
    properties = [name for name, method in all_of_it.items() if method["kind"] == "property"]
    methods = {
        name: [entry["kind"], *signature(entry["args"])] for name, entry in all_of_it.items() if name not in properties
    }
    return {"methods": methods, "properties": facts.get("properties", []) + properties}


def of_module(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "functions": {name: signature(function["args"]) for name, function in facts["functions"].items()},
        "classes": {name: of_class(entry) for name, entry in facts["classes"].items()},
        "constants": sorted(facts.get("constants", ())),
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


#: Subjects of later releases that musasim does not imitate (yet).
OTHER_SUBJECTS_LATER = (*OTHER_SUBJECTS, "torch_musa.distributed")
#: What the file of 2.11 lacks, read in the sources since: it has no text of these parts of its modules.
READ_SINCE: dict[str, dict[str, list[str]]] = {
    "torch_musa.core.memory": {
        "memory_stats_all": [],
        "reset_max_memory_cached": ["device=None"],
        "_record_memory_history_legacy": [
            *("enabled", "record_context=True", "trace_alloc_max_entries=1", "trace_alloc_record_context=False"),
            *("device=None", "record_context_cpp=False", "clear_history=False", "compile_context=False"),
            *("global_record_annotations=False", "skip_actions=None"),
        ],
    },
}
#: Of 2.9.1.post1, where it differs from 2.11.0.post2: core/memory.py and __init__.py at its commit.
MEMORY_OF_2_9_1: dict[str, list[str]] = {
    "_dump_snapshot": ["filename='dump_snapshot.pickle'"],
    "memory_snapshot": ["mempool_id=None"],
}
NOT_IN_MEMORY_OF_2_9_1 = ("_get_memory_metadata", "_set_memory_metadata")
POOL_OF_2_9_1 = {
    "methods": {
        "__init__": ["method", "self", "allocator=None", "use_on_oom=False"],
        "snapshot": ["method", "self"],
        "use_count": ["method", "self"],
    },
    "properties": ["allocator", "id"],
}
NOT_AT_THE_TOP_OF_2_9_1 = (
    *("AcceleratorError", "__getattr__", "_lazy_init_mod", "get_gencode_flags", "get_sync_debug_mode", "ipc"),
    "set_sync_debug_mode",
)
MODULES_SINCE_2_11_0 = ("torch_musa.core.amp.common", "torch_musa.core.device", "torch_musa.core.ipc")
#: Known from the commit messages of the vendor and __init__.py; core/musa.py has no text after 2.7.1.
FROM_CORE_MUSA = {"matmul": {"kind": "object", "when": "import"}, "muBLASModule": {"kind": "class", "when": "import"}}
#: `from typing import NewType` stands in __init__.py.
LEAKED = {"NewType": {"kind": "external", "when": "import"}}


def later(api: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """What releases after 2.7.1, whose reduced facts are `first`, have otherwise."""
    names, modules = reduced(api)["top_level"] | FROM_CORE_MUSA | LEAKED, {}
    for name, facts in api["modules"].items():
        if facts["release"] != "2.7.1" and not name.startswith(OTHER_SUBJECTS_LATER):
            modules[name] = of_module(facts)
            modules[name]["functions"] |= READ_SINCE.get(name, {})
            modules[name]["constants"] = first["modules"].get(name, {}).get("constants", [])
    newest = {"top_level": names, "modules": modules}
    return {
        "source": api["source"],
        "2.9.1": difference(first, as_in_2_9_1(newest, first)),
        "2.11.0": difference(first, newest),
    }


def as_in_2_9_1(newest: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    names = {name: entry for name, entry in newest["top_level"].items() if name not in NOT_AT_THE_TOP_OF_2_9_1}
    names |= {name: first["top_level"][name] for name in ("MemPoolContext", "_initialized")}
    modules = {name: facts for name, facts in newest["modules"].items() if name not in MODULES_SINCE_2_11_0}
    functions = dict(modules["torch_musa"]["functions"])
    functions.pop("__getattr__")
    memory = dict(modules["torch_musa.core.memory"])
    memory["functions"] = {k: v for k, v in memory["functions"].items() if k not in NOT_IN_MEMORY_OF_2_9_1}
    for history in ("_record_memory_history_legacy", "_record_memory_history_impl"):
        memory["functions"][history] = memory["functions"][history][:-1]  # skip_actions
    memory["functions"] |= MEMORY_OF_2_9_1
    context = first["modules"]["torch_musa.core.memory"]["classes"]["MemPoolContext"]
    memory["classes"] = {**memory["classes"], "MemPool": POOL_OF_2_9_1, "MemPoolContext": context}
    whole = {"torch_musa": {**modules["torch_musa"], "functions": functions}, "torch_musa.core.memory": memory}
    return {"top_level": names, "modules": modules | whole}


def difference(first: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    names, known = other["top_level"], first["top_level"]
    return {
        "added": {name: entry for name, entry in names.items() if name not in known},
        "removed": sorted(known.keys() - names.keys()),
        "modules": {name: facts for name, facts in other["modules"].items() if facts != first["modules"].get(name)},
    }


if __name__ == "__main__":
    oldest = reduced(json.loads(Path(sys.argv[1]).read_text()))
    SPEC.write_text(written(oldest) + "\n")
    LATER.write_text(written(later(json.loads(Path(sys.argv[2]).read_text()), oldest)) + "\n")
