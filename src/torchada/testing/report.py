"""What a check of a backend has found, for people and for programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

from torchada.report.schemas import envelope

# The adapter has it, and it does what CUDA's does; the adapter lacks it; it does something else; it cannot be tried here.
Outcome = Literal["offers", "lacks", "wrong", "not checked"]
_MARKS: dict[Outcome, str] = {"offers": "ok", "lacks": "lacks", "wrong": "WRONG", "not checked": "-"}


@dataclass(frozen=True)
class Result:
    """The result of one check. `means` says what CUDA code notices where the capability is lacking."""

    name: str
    required: bool
    outcome: Outcome
    detail: str
    means: str

    @property
    def is_fault(self) -> bool:
        return self.outcome == "wrong" or (self.outcome == "lacks" and self.required)

    def as_text(self) -> str:
        """One line, and a second one where there is more to say."""
        mark = "MISSING" if self.outcome == "lacks" and self.required else _MARKS[self.outcome]
        lines = [f"  {mark:<8}{self.name:<28}{self.detail}".rstrip()]
        if self.outcome == "lacks":
            lines.append(f"  {'':<36}{self.means}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """The results in the order of the checks. `versions` are those of torch and of the adapter."""

    backend: str
    adapter: str
    versions: dict[str, str]
    results: tuple[Result, ...]

    @property
    def faults(self) -> tuple[Result, ...]:
        """The results that keep CUDA code from running as it does on CUDA."""
        return tuple(result for result in self.results if result.is_fault)

    @property
    def lacking(self) -> tuple[Result, ...]:
        """The optional capabilities that this adapter lacks."""
        return tuple(result for result in self.results if result.outcome == "lacks" and not result.required)

    @property
    def ok(self) -> bool:
        return not self.faults

    @property
    def exit_code(self) -> int:
        """0 where no fault was found, and otherwise 1."""
        return 0 if self.ok else 1

    def as_json(self) -> dict[str, Any]:
        """The report as plain data for `json.dumps`."""
        return {
            **envelope("backend-check"),
            "backend": self.backend,
            "adapter": self.adapter,
            "versions": self.versions,
            "ok": self.ok,
            "checks": [asdict(result) for result in self.results],
        }

    def as_text(self) -> str:
        """One section for each subject, and a summary."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        lines, subject = [f"backend {self.backend}: {versions}"], ""
        for result in self.results:
            if result.name.partition(".")[0] != subject:
                subject = result.name.partition(".")[0]
                lines.append(subject)
            lines.append(result.as_text())
        counts = Counter(result.outcome for result in self.results)
        summary = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _MARKS if counts[outcome])
        return "\n".join([*lines, f"{summary}: {len(self.faults)} fault{'s' * (len(self.faults) != 1)}"])
