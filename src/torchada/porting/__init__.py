"""CUDA sources for MUSA: `port_source`, `port_file`, `port_tree`. Needs no torch.

Comments and strings stay what they are, lines stay lines, and whatever has no counterpart stays as it was and is reported. See
docs/how-to/porting.md.
"""

from __future__ import annotations

from torchada.porting.findings import CHECK, UNPORTED, Finding, OutputError, Ported, PortingError
from torchada.porting.names import Answer, Names
from torchada.porting.port import File, Tree, port_file, port_files, port_source, port_tree
from torchada.porting.project import Project
from torchada.porting.project import read as read_project
from torchada.porting.translate import Translator

__all__ = [
    "CHECK",
    "UNPORTED",
    "Answer",
    "File",
    "Finding",
    "Names",
    "OutputError",
    "Ported",
    "PortingError",
    "Project",
    "Translator",
    "Tree",
    "port_file",
    "port_files",
    "port_source",
    "port_tree",
    "read_project",
]
