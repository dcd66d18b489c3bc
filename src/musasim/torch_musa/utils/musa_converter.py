"""`python -m torch_musa.utils.musa_converter -r PATH`: rewrites Python programs in place, from CUDA's words to MUSA's.

The real package has it as the command musa-converter, and needs libcst for it.
"""

from __future__ import annotations

import ast
import io
import logging
import os
import os.path as osp
import sys
import tokenize
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

LOG_FORMAT = "%(asctime)s - %(levelname)s - %(message)s"

#: They are replaced in every name, string and comment, which is all that can contain them.
_WORDS = {"CUDA": "MUSA", "cuda": "musa", "NCCL": "MCCL", "nccl": "mccl", "nvcc": "mcc"}
_BUILDER = ["from", "torch", ".", "utils", ".", "cpp_extension", "import"]

#: Two places, as line and column, and what stands between them afterwards.
_Edit = tuple[tuple[int, int], tuple[int, int], str]


def parse_args() -> Namespace:
    """What the command line asks for."""
    parser = ArgumentParser(description="A utility for converting training/inference scripts from CUDA to MUSA")
    parser.add_argument("-r", "--root_path", required=True, help="the file, or the folder of files, to convert")
    parser.add_argument("-l", "--launch_path", help="the script that is started: it imports torch_musa then")
    parser.add_argument("-e", "--excluded_path", nargs="*", default=[], help="files that stay as they are")
    return parser.parse_args()


class BaseMUSAConverter:
    """Finds the files."""

    def __init__(self, args: Namespace) -> None:
        self.args = args
        self.root_path = args.root_path
        self.launch_file_path = args.launch_path
        if args.launch_path is None:
            logging.warning("no launch script was given; it has to import torch_musa")
        for path in args.excluded_path:
            if not osp.isfile(path):
                logging.error("%s, which -e/--excluded_path names, is no file", path)
                sys.exit(1)
        self.excluded_path = [osp.abspath(path) for path in args.excluded_path]

    def is_legal_file(self, path: str) -> bool:
        """Whether the file is to be converted."""
        assert osp.isabs(path), "absolute path needed here"
        return path.endswith(".py") and path not in self.excluded_path

    def setup_files(self) -> list[str]:
        """The files to convert, by absolute paths."""
        if not osp.exists(self.root_path):
            raise RuntimeError("illegal root_path")
        paths = [self.root_path] if osp.isfile(self.root_path) else _files(self.root_path)
        return [path for path in map(osp.abspath, paths) if self.is_legal_file(path)]

    def run(self) -> None:
        """Convert the files."""
        raise NotImplementedError


class AdvancedMUSAConverter(BaseMUSAConverter):
    """Converts them."""

    def convert_file(self, file: str) -> None:
        """Replace the words, and what is imported from modules that have other names on MUSA."""
        text = _read(file)
        ast.parse(text)
        for word, other in _WORDS.items():
            text = text.replace(word, other)
        _write(file, _edited(text, _imports(text)))

    def add_torch_musa_into_launch_script(self, file: str) -> None:
        """Import torch_musa before the script's first statement."""
        text = _read(file)
        body = ast.parse(text).body
        lines = text.splitlines(keepends=True)
        lines.insert(_first_line(body[0]) - 1 if body else len(lines), "import torch_musa\n")
        _write(file, "".join(lines))

    def run(self) -> None:
        logging.info("Start to convert the scripts...")
        for file in self.setup_files():
            self.convert_file(file)
        if self.launch_file_path:
            self.add_torch_musa_into_launch_script(self.launch_file_path)
        logging.info("Scripts conversion done!!!")


def _files(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (osp.join(place, name) for name in names)


def _read(file: str) -> str:
    with open(file, encoding="utf-8", newline="") as opened:
        return opened.read()


def _write(file: str, text: str) -> None:
    with open(file, "w", encoding="utf-8", newline="") as opened:
        opened.write(text)


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _imports(text: str) -> Iterator[_Edit]:
    """In import statements, torch.musa is torch_musa, and the extension builder is torch_musa's."""
    layout = (tokenize.NL, tokenize.COMMENT)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in layout]
    words = [token.string for token in tokens]
    beginning, inside = True, False
    for i, token in enumerate(tokens):
        inside = (beginning and token.string in ("import", "from")) or inside
        if inside and words[i : i + 3] == ["torch", ".", "musa"] and words[i - 1] != ".":
            yield token.start, tokens[i + 2].end, "torch_musa"
        if inside and words[i : i + 7] == _BUILDER:
            yield tokens[i + 1].start, tokens[i + 5].end, "torch_musa.utils.musa_extension"
        ended = token.type == tokenize.NEWLINE or token.string == ";"
        inside = inside and not ended
        beginning = ended or token.type in (tokenize.INDENT, tokenize.DEDENT) or token.string == ":"


def _edited(text: str, edits: Iterator[_Edit]) -> str:
    lines = text.splitlines(keepends=True)
    for (first, begin), (last, end), words in reversed(list(edits)):
        rest = lines[last - 1][end:]
        lines[first - 1 : last] = [lines[first - 1][:begin] + words + rest]
    return "".join(lines)


def main() -> None:
    """Do what the command line asks for."""
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT)
    AdvancedMUSAConverter(parse_args()).run()


if __name__ == "__main__":
    main()
