"""Ports the files of a folder from CUDA to MUSA by replacing names wherever they stand, which is quick and knows nothing of C++."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from os.path import dirname, join, realpath, relpath, split
from typing import Any

from . import porting_names
from .logger_util import LOGGER

EXT_REPLACED_MAPPING = {"cuh": "muh", "cu": "mu"}


def read_json(json_file_path: str) -> dict[str, str]:
    """The table of a file."""
    with open(json_file_path, encoding="utf-8") as file:
        return json.load(file)  # type: ignore[no-any-return]


class SimplePorting:
    """Ports `cuda_dir_path` into a folder beside it, whose name ends with "_musa". A folder that has this name already is deleted.

    mapping_rule: names and what replaces them, or JSON of it. The tables below win over it.
    drop_default_mapping: take no tables.
    mapping_dir_path: a folder of tables, NAME.json; general.json is not read. Without it, the tables are `porting_names`.
    ignore_dir_paths: folders whose files are left out, not those of folders in them; a list, or JSON of one.
    """

    def __init__(
        self,
        cuda_dir_path: str | None = None,
        ignore_dir_paths: Any = None,
        mapping_rule: Any = None,
        drop_default_mapping: bool = False,
        mapping_dir_path: str | None = None,
    ) -> None:
        self.overwrite_default_mapping = drop_default_mapping
        self.mapping_rule = mapping_rule
        self.mapping_dir_path = mapping_dir_path
        self.cuda_dir_path = cuda_dir_path or realpath(join(dirname(__file__), "cuda"))
        self.ignore_dir_paths = ignore_dir_paths
        self.musa_dir_path = realpath(join(self.cuda_dir_path, "..", split(self.cuda_dir_path)[-1] + "_musa"))
        shutil.rmtree(self.musa_dir_path, ignore_errors=True)
        os.makedirs(self.musa_dir_path)

    def load_replaced_mapping(self) -> None:
        """Let `mapping_rule` be the pairs to replace, longest first, and print them."""
        rules = json.loads(self.mapping_rule) if isinstance(self.mapping_rule, str) else self.mapping_rule
        rules = rules or {}
        if not self.overwrite_default_mapping:
            rules.update(self._tables())
        elif not rules:
            LOGGER.error(
                "set overwrite_default_mapping True but not give valid mapping_rule. got mapping_rule=%s", rules
            )
            sys.exit(-1)
        self.mapping_rule = sorted(rules.items(), key=lambda pair: len(pair[0]), reverse=True)
        print(self.mapping_rule)
        LOGGER.info("Loading all mapping files success.")

    def _tables(self) -> dict[str, str]:
        if not self.mapping_dir_path:
            return porting_names.mapping()
        table: dict[str, str] = {}
        for name in os.listdir(self.mapping_dir_path):
            if name.endswith(".json") and name != "general.json":
                table.update(read_json(join(self.mapping_dir_path, name)))
                LOGGER.info("loading %s...", name)
        return table

    def modify_file(self, cuda_filepath: str, musa_filepath: str) -> None:
        """Write the ported file. Lines that begin like a comment, and the headers of CUB, stay as they are."""
        with open(cuda_filepath, encoding="utf-8") as source, open(musa_filepath, "w", encoding="utf-8") as target:
            target.writelines(self._modified(line) for line in source)

    def _modified(self, line: str) -> str:
        if line.startswith(("*", "/")):
            return line
        for name, other in self.mapping_rule:
            if "cub/" not in line:
                line = line.replace(name, other)
        return line

    def change_filename(self, name: str) -> str:
        """What a file is called when it is ported."""
        stem, _, suffix = name.rpartition(".")
        return f"{stem}.{EXT_REPLACED_MAPPING.get(suffix, suffix)}"

    def process_ignore_dir_paths(self) -> None:
        """Let `ignore_dir_paths` be a list of absolute paths."""
        paths = self.ignore_dir_paths or []
        self.ignore_dir_paths = [realpath(path) for path in (json.loads(paths) if isinstance(paths, str) else paths)]
        LOGGER.info("Processing ignore dir paths success.")

    def run(self) -> None:
        """Port the folder."""
        self.load_replaced_mapping()
        self.process_ignore_dir_paths()
        folders = list(os.walk(self.cuda_dir_path))
        for i, (folder, _, files) in enumerate(folders, 1):
            if realpath(folder) in self.ignore_dir_paths:
                LOGGER.info("%s is in no need of porting and skip it.", realpath(folder))
                continue
            for name in files:
                self._port(folder, name, f"{i}/{len(folders)}")

    def _port(self, folder: str, name: str, progress: str) -> None:
        target_folder = join(self.musa_dir_path, relpath(folder, self.cuda_dir_path))
        os.makedirs(target_folder, exist_ok=True)
        source, target = realpath(join(folder, name)), realpath(join(target_folder, self.change_filename(name)))
        self.modify_file(source, target)
        LOGGER.info("modify %s -> %s %s content success.", source, target, progress)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Simple Porting")
    parser.add_argument("--cuda-dir-path", default="cuda/", help="the folder to port")
    parser.add_argument("--ignore-dir-paths", default=[], help="folders to leave out, as JSON")
    parser.add_argument("--mapping-rule", default="{}", help='names to replace, as JSON: {"cuda": "musa"}')
    parser.add_argument("--drop-default-mapping", action="store_true", help="replace no other names")
    parser.add_argument("--mapping-dir-path", help="a folder of tables of names, as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    args = _arguments()
    SimplePorting(**vars(args)).run()
