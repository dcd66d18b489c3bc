"""Use every API of CUDA that a patch names, with recording on: `python -m support.recorded FILE` writes what was not recorded.

First by programs: those of support.compiled, run uncompiled, and the expressions that `scripts.compatibility` has for the names of
torch.cuda. An API that none of them uses is called directly, with the arguments that its name shows. Errors of these calls do not
matter.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from scripts.compatibility.samples import SAMPLES, Expression, Sample

from support.compiled.applied import import_everything
from support.compiled.report import programs
from support.compiled.run import Runner
from torchada.hooks.state import STATE
from torchada.redirect.engine import ENGINE, Patch
from torchada.redirect.entry_point import EntryPoint
from torchada.telemetry.observe import has_own_constructor


def can_be_recorded(patch: Patch) -> bool:
    """Whether the replacement is called or read through our code: reading a plain value or a table cannot be noticed."""
    value = bare(patch.replacement)
    if patch.api is None or (isinstance(value, type) and not has_own_constructor(value)):
        return False
    return callable(value) or isinstance(value, (property, EntryPoint))


def bare(value: Any) -> Any:
    """The function in a static or class method."""
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def patches() -> list[Patch]:
    """All patches in force that can be recorded."""
    applied = (each for done in ENGINE.applied().values() for each in done if each.is_in_force)
    return [each.patch for each in applied if can_be_recorded(each.patch)]


def recorded() -> set[str]:
    """The APIs that have been counted so far."""
    assert STATE.telemetry is not None
    return {use.api for use, _ in STATE.telemetry._recorder._counts}


def use_everything() -> None:
    """Run every program and every expression; another test checks what they raise."""
    runner = Runner("cuda", "eager")
    for program in programs("cuda"):
        runner.eager(program)
    for path, text in SAMPLES.items():
        _evaluate(path, text)


def _evaluate(path: str, text: Expression) -> None:
    value: Any = torch
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
    sample = Sample(text, value, Exception)
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        sample.before()
        try:
            sample.run()
        finally:
            sample.after()


def call(patch: Patch) -> None:
    """Call, or read, the replacement without an object, with the arguments that the API shows."""
    owner, value = patch.owner, patch.replacement
    value = vars(owner).get(patch.name, value) if isinstance(owner, type) else getattr(owner, str(patch.name), value)
    args, kwargs = shown_arguments(str(patch.api))
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        if isinstance(value, property):
            assert value.fget is not None
            value.fget(object())
        elif isinstance(owner, type):
            bare(value)(object(), *args, **kwargs)
        else:
            value(*args, **kwargs)


def shown_arguments(api: str) -> tuple[list[Any], dict[str, Any]]:
    """The arguments in 'torch.zeros(device="cuda")'; names that are not constants become None."""
    text = api.replace("...", "None").replace("DispatchKey.CUDA", '"CUDA"').replace("ProfilerActivity.CUDA", '"CUDA"')
    found = re.search(r"\((.*)\)$", text) or re.search(r"\[(.*)\]", text)
    if found is None:
        return [], {}
    node = ast.parse(re.sub(r"=\s*(?=[,)])", "=None", f"f({found[1]})"), mode="eval").body
    assert isinstance(node, ast.Call)
    return [_constant(arg) for arg in node.args], {str(each.arg): _constant(each.value) for each in node.keywords}


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def main(file: str) -> None:
    import_everything()
    use_everything()
    by_programs = recorded()
    for patch in patches():
        if patch.api not in by_programs:
            call(patch)
    used = recorded()
    answered = {id(bare(patch.replacement)) for patch in patches() if patch.api in used}
    missing = {
        str(patch.api) for patch in patches() if patch.api not in used and id(bare(patch.replacement)) not in answered
    }
    found = {"named": len({patch.api for patch in patches()}), "programs": len(by_programs), "missing": sorted(missing)}
    Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
