"""docs/reference/costs.md and its tables, from measurements of names.py. Run as a program, it writes them from the latest one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

import history
from uses import EXCLUDED, WHY

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "costs.md"
OURS, NATIVE, OLD = "torchada", "native", "0.1.103"
# A ratio above its limit, by the minima and in three of four rounds, is shown with the reason.
LIMITS = {NATIVE: 1.10, OLD: 1.0}
_SECTIONS = {
    "same": "The very objects of torch_musa",
    "adapted": "Calls that arrive at torch_musa by way of Python",
    "emulated": "Answered by torchada",
}

_INTRO = """# What a call of torch.cuda costs

Made by `python benchmarks/names.py --write`: every public function and class of `torch.cuda` and its submodules that works on MUSA
([compatibility.md](compatibility.md)) and can be called again and again, in three kinds of processes that are asked in turn.

- **torchada**: the call as a CUDA program writes it, under this torchada.
- **native**: the same call written for MUSA, in a process without torchada: `torch.musa.` for `torch.cuda.`, and torch_musa's own
  spelling, such as `MUSAGraph`; `-` where torch_musa has no such name.
- **0.1.103**: the first column's call under torchada 0.1.103; `fails` with the exception that it raises.
- **/ native, / 0.1.103**: our time divided by theirs. Less than 1 is faster.

Times are nanoseconds of processor time per call, the shortest of all rounds. Looking the function up (`torch.cuda.` and so on) is
part of the call. What happens inside torch_musa is the simulator's; on hardware it takes more or less time. What torchada adds
before it takes the same time there. A ratio counts as above a limit on more than noise if it is so in three of four rounds, too.
Calls with tensors and device strings are measured by `benchmarks/overhead.py`.
"""


def page(entry: dict[str, Any]) -> str:
    """The page for one measurement, as the history has it."""
    results = entry["results"]["names"]
    return "\n".join([_INTRO, *_conditions(entry), "", *body(results), *_left_out()]) + "\n"


def _conditions(entry: dict[str, Any]) -> Iterator[str]:
    versions = ", ".join(f"{name} {number}" for name, number in entry["versions"].items())
    machine, measured = entry["machine"], entry["results"]
    simulated = re.fullmatch(r"(\S+)\+musasim .*", entry["versions"].get("torch_musa", ""))
    yield f"Measured on {entry['date'][:10]}, on {machine['cores']} cores of {machine['cpu']};"
    yield f"{versions};"
    yield f"{measured['starts']} starts of the processes, {measured['rounds']} rounds each."
    if simulated is not None:
        yield f"All of it was taken on the simulated torch_musa {simulated[1]} (`MUSASIM_RELEASE`), the native column included."


def body(results: dict[str, Any]) -> list[str]:
    """Outcome and tables, for the page and for the terminal."""
    return [*outcome(results), *_above(results), *tables(results)]


def outcome(results: dict[str, Any]) -> Iterator[str]:
    """A summary of the tables, one line for each of the other columns."""
    for other, limit in LIMITS.items():
        ratios = {path: result["ratio"][other] for path, result in results.items() if other in result["ratio"]}
        if not ratios:
            continue
        worst = max(ratios, key=lambda path: ratios[path])
        above = sum(_is_above(results[path], other) for path in ratios)
        yield (
            f"- Against {other}, {len(ratios)} of {len(results)} names: the median ratio is {median(ratios.values()):.2f}, "
            f"the worst {ratios[worst]:.2f} (`{worst}`); {above} are above {limit:.2f} on more than noise."
        )
    failing = sum(OLD in result["fails"] for result in results.values())
    if failing:
        yield f"- {failing} of the {len(results)} fail under {OLD}."


def _above(results: dict[str, Any]) -> Iterator[str]:
    """The names above a limit, worst first, with the reason."""
    above = {
        path: result for path, result in results.items() if any(_is_above(result, other) for other in result["ratio"])
    }
    if above:
        yield from ("", "## More than the other", "")
        yield from (f"| name | / {NATIVE} | / {OLD} | why |", "|---|---|---|---|")
    for path, result in sorted(above.items(), key=lambda item: -max(item[1]["ratio"].values())):
        why = next((why for pattern, why in WHY.items() if fnmatchcase(path, f"torch.cuda.{pattern}")), "not known")
        yield f"| `{path}` | {_ratio(result, NATIVE)} | {_ratio(result, OLD)} | {why} |"


def _is_above(result: dict[str, Any], other: str) -> bool:
    return bool(min(result["ratio"][other], result["at least"][other]) > LIMITS[other])


def tables(results: dict[str, Any]) -> Iterator[str]:
    """One table a kind."""
    for kind, title in _SECTIONS.items():
        chosen = [result for result in results.values() if result["kind"] == kind]
        if chosen:
            yield from ("", f"## {title}", "", f"| {kind} | {OURS} | {NATIVE} | {OLD} | / {NATIVE} | / {OLD} |")
            yield "|---" * 6 + "|"
            yield from map(_row, chosen)


def _row(result: dict[str, Any]) -> str:
    times = [_time(result, column) for column in (OURS, NATIVE, OLD)]
    ratios = [_ratio(result, other) for other in (NATIVE, OLD)]
    call = result["call"].replace("\n    ", " ").replace("\n", "; ")
    return f"| `{call}` | {' | '.join([*times, *ratios])} |"


def _ratio(result: dict[str, Any], other: str) -> str:
    return f"{result['ratio'][other]:.2f}" if other in result["ratio"] else "-"


def _time(result: dict[str, Any], column: str) -> str:
    if column in result["fails"]:
        return f"fails: {result['fails'][column]}"
    return f"{result['ns'][column]:.0f}" if column in result["ns"] else "-"


def _left_out() -> Iterator[str]:
    yield from ("", "## Left out", "")
    yield from (f"- `{pattern}`: {why}." for pattern, why in EXCLUDED.items())


if __name__ == "__main__":
    PAGE.write_text(page(history.entries("names")[-1]))
