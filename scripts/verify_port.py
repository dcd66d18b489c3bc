"""Port projects and check what docs/how-to/porting.md promises, with a lexer that shares no code with the porter's.

    python scripts/verify_port.py SRC...

For each project: names of CUDA's left in code although torch_musa's tables have a counterpart, comments changed, strings changed
(beyond the few kinds that are code), local includes that found a file before and find none after, sources whose second port differs
from the first, lines moved, and inline PTX, counted independently, that is not in the report. All of these have to be zero.
"""

from __future__ import annotations

import json
import lzma
import posixpath
import re
import sys
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from support import differences  # noqa: E402
from support.tokenizer import COMMENT, HEADER, MESSAGE, NAME, STRING, tokens  # noqa: E402
from torchada.porting import Project, Tree, port_source, port_tree  # noqa: E402
from torchada.porting.includes import renamed  # noqa: E402

KNOWN = json.loads(lzma.decompress((ROOT / "tests" / "porting" / "symbols.json.xz").read_bytes()))["groups"]
NAMES = {
    name.encode()
    for group, table in KNOWN.items()
    if group not in ("headers", "build_libs")
    for name in table
    if "::" not in name and not differences.is_deliberate(name)
}
# The kinds of strings that are code; see src/torchada/porting/strings.py.
CODE = re.compile(rb'"musa(:\d+)?"|"lib\w+\.so"|"_*(mu|mccl|mt)\w+"|".*\.muh?"|(?:u8|[uUL])?R".*', re.DOTALL)
PTX = re.compile(rb"[a-z][a-z0-9_]*\.[a-z0-9_:.]+")


def verify(root: Path, project: Project | None = None) -> Counter[str]:
    """Count the faults in the port of the tree at `root`, and everything else that the table shows."""
    tree = port_tree(root, None, project, keep_texts=True)
    count = Counter(files=len(tree.texts), bytes=tree.size, unported=len(tree.unported), findings=len(tree.findings))
    count["translated"] = sum(file.replacements for file in tree.files)
    count["seconds"] = int(tree.seconds * 1000)
    again = _again(tree)
    for path, (before, after) in tree.texts.items():
        old, new = list(tokens(before)), list(tokens(after))
        reported = {finding.name.encode() for file in tree.files if file.path == path for finding in file.findings}
        count["comments changed"] += _texts(old, COMMENT) != _texts(new, COMMENT)
        count["messages changed"] += _texts(old, MESSAGE) != _texts(new, MESSAGE)
        count["lines moved"] += before.count(b"\n") != after.count(b"\n")
        count["not idempotent"] += again[path] != after
        strings = [_texts(old, STRING), _texts(new, STRING)]
        if _ptx(new) < _ptx(old):  # statements that were translated have lost their strings
            strings[0] = _common(*strings)
        changed = [pair for pair in zip(*strings) if pair[0] != pair[1]]
        count["strings changed"] += len(strings[0]) != len(strings[1])
        count["strings changed"] += sum(CODE.fullmatch(pair[1]) is None for pair in changed)
        count["strings that are code"] += len(changed)
        left = {token.text for token in new if token.kind == NAME} & NAMES - reported
        count["names left"] += len(left)
        count["PTX not reported"] += max(0, _ptx(new) - sum(_is_ptx(path, tree)))
        for name in sorted(left):
            print(f"  {path}: {name.decode()} is left")
    count["includes broken"] = _broken(tree)
    return count


def _again(tree: Tree) -> dict[str, bytes]:
    from functools import partial

    from torchada.porting.includes import Includes
    from torchada.porting.names import Names

    targets = {renamed(path): renamed(path) for path in (file.target for file in tree.files)}
    includes = Includes(targets, Names())
    return {
        path: port_source(after, resolve=partial(includes.resolve, renamed(path))).text
        for path, (_, after) in tree.texts.items()
    }


def _texts(sequence: list, kind: str) -> list[bytes]:
    return [token.text for token in sequence if token.kind == kind]


def _common(longer: list, shorter: list) -> list:
    """What of `longer` stands in `shorter` too, in that order."""
    blocks = SequenceMatcher(None, longer, shorter, autojunk=False).get_matching_blocks()
    return [text for block in blocks for text in longer[block.a : block.a + block.size]]


def _ptx(sequence: list) -> int:
    """The asm statements whose first string looks like PTX."""
    following = zip(sequence, sequence[1:], sequence[2:])
    total = 0
    for first, second, third in following:
        if first.kind == NAME and first.text in (b"asm", b"__asm__", b"__asm"):
            literal = (
                second if second.kind == STRING else third if second.text in (b"volatile", b"__volatile__") else None
            )
            total += literal is not None and literal.kind == STRING and PTX.search(literal.text) is not None
    return total


def _is_ptx(path: str, tree: Tree) -> list[bool]:
    return ["assembler" in finding.reason for file in tree.files if file.path == path for finding in file.findings]


def _broken(tree: Tree) -> int:
    """Print the includes that found a file of the tree and find none in the ported tree; returns how many there are."""
    before, after = {file.path for file in tree.files}, {file.target for file in tree.files}
    broken = 0
    for path, (old, new) in tree.texts.items():
        for was, now in zip(_texts(list(tokens(old)), HEADER), _texts(list(tokens(new)), HEADER)):
            if _finds(path, was, before) and not _finds(path, now, after):
                print(f"  {path}: {now.decode()} finds no file, {was.decode()} did")
                broken += 1
    return broken


def _finds(source: str, header: bytes, files: set[str]) -> bool:
    """Whether an include in `source` finds one of `files`: beside it if it is in quotes, or through an include path."""
    name = header[1:-1].decode("utf-8", "replace")
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
    if header[:1] == b'"' and beside in files:
        return True
    # A name without a folder may be a header of CUDA's own, so it counts as found through no include path.
    return "/" in name and any(file.endswith("/" + name) for file in files)


WRONG = (
    "names left",
    "comments changed",
    "messages changed",
    "strings changed",
    "includes broken",
    "not idempotent",
    "lines moved",
    "PTX not reported",
)


def main() -> int:
    failed = 0
    print(f"| project | files | MB | translated | unported | to look at | {' | '.join(WRONG)} |")
    print("|---" * (6 + len(WRONG)) + "|")
    for root in map(Path, sys.argv[1:]):
        count = verify(root)
        numbers = [count["files"], f"{count['bytes'] / 1e6:.2f}", count["translated"], count["unported"]]
        numbers += [count["findings"] - count["unported"], *(count[fault] for fault in WRONG)]
        print(f"| {root.name} | {' | '.join(map(str, numbers))} |", flush=True)
        failed += any(count[fault] for fault in WRONG)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
