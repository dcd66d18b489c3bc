"""The table of CUDA's APIs and their answers. scripts/cuda_apis.py makes it from the records of the areas."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from torchada.report.answers import ADAPTED, OWN, UNKNOWN
from torchada.tools.check.releases import NEWEST

_FILE = Path(__file__).with_name("apis.json")
# An API in the table that shows an argument: torch.zeros(device="cuda"), torch.device("cuda"), Tensor.cuda().
_CALL = re.compile(r"(?P<path>[\w.]+)\((?P<arguments>.*)\)")
# Below these, a name that the table does not have is an unknown one, and no attribute of something that it has.
ROOTS = ("torch.cuda", "torch.backends.cuda", "torch.backends.cudnn")
_METHODS = ("Tensor.", "Module.")


class Answer(NamedTuple):
    """How an API is answered: its name in the table, the kind, what answers it, and why not where nothing does."""

    api: str
    kind: str
    to: str = ""
    why: str = ""


class Table:
    """The answers of one release of torch_musa by path. `calls` are those of functions that are CUDA's only by an argument."""

    def __init__(self, rows: Mapping[str, Iterable[str]], release: str, versions: str) -> None:
        self.release, self.versions = release, versions
        self.names: dict[str, Answer] = {}
        self.calls: dict[str, Answer] = {}
        self.attributes: dict[str, Answer] = {}
        for api, row in rows.items():
            self._add(Answer(api, *row))
        self.modules = frozenset(name.rpartition(".")[0] for name in self.names) - {"torch"}

    def _add(self, answer: Answer) -> None:
        call = _CALL.fullmatch(answer.api)
        if call is None:
            self.names[answer.api] = answer
        elif call["arguments"]:
            self.calls.setdefault(call["path"], answer)
        path = (call["path"] if call else answer.api).replace("torch.autograd.profiler_util.", "")
        name = path.rpartition(".")[2]
        # An attribute that says cuda is found on any object; its class cannot be known from a source.
        is_of_an_object = "()" in answer.api or path.rpartition(".")[0].rpartition(".")[2][:1].isupper()
        if is_of_an_object and "cuda" in name and not path.startswith("torch.library"):
            self.attributes.setdefault(name, answer)

    def find(self, path: str) -> Answer | None:
        """The answer to the API at `path`; "unknown" for a name of CUDA that is not in the table; None for what is not CUDA's."""
        head = path
        while head:
            if head in self.names:
                answer = self.names[head]
                if head == path or answer.kind != OWN or head not in self.modules:
                    return answer
                break
            twin = f"torch.cuda.{head.rpartition('.')[2]}"  # torch.cuda and torch.cuda.memory share their functions
            if head.startswith("torch.cuda.") and head.count(".") == 3 and twin in self.names:
                return self.names[twin]
            head = head.rpartition(".")[0]
        return Answer(path, UNKNOWN) if path.startswith(tuple(f"{root}." for root in ROOTS)) else None

    def call(self, path: str) -> Answer | None:
        """The answer to a call that names a CUDA device or CUDA's dispatch key."""
        return self.calls.get(path) or self.calls.get(path.replace("torch.amp.", "torch.", 1))

    def method(self, name: str) -> Answer | None:
        """The answer to a method of a tensor or a module that is called with a CUDA device."""
        return next((self.calls[owner + name] for owner in _METHODS if owner + name in self.calls), None)

    @property
    def device(self) -> Answer:
        """The answer to the name of a device by itself."""
        return self.calls.get("torch.device", Answer('torch.device("cuda")', ADAPTED))


@cache
def table(release: str = NEWEST) -> Table:
    """The table of a release of torch_musa: that of the newest, with the rows in which the older one differs."""
    document = json.loads(_FILE.read_text(encoding="utf-8"))
    rows: dict[str, list[str]] = {**document["apis"], **document["differences"].get(release, {})}
    known = {name: row for name, row in rows.items() if row}
    return Table(known, release, f"torch {document['torch']}, torch_musa {document['releases'][release]}")
