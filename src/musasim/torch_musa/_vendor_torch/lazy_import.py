"""Lets stock C++ code find the module whose `_lazy_init` it calls before the first tensor is made, or whose storages it asks for.

It imports "torch.musa", where the vendor's torch imports "torch_musa". The name cannot simply be put into sys.modules,
because `import torch.musa` fails with the real package, so it must fail here too. So a finder answers for the name
only if the import does not come from Python code.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import opcode
import sys
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

_NAME = "torch.musa"
_IMPORT_NAME = opcode.opmap["IMPORT_NAME"]


class _ForNativeCode(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != _NAME or _asked_by_python(sys._getframe(1)):
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Alias(_NAME)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because the alias is complete."""


class _Alias(ModuleType):
    """It is in sys.modules from the import until C++ looks up the name it came for: `_lazy_init`, `_gpu_trace`, a storage's class.

    Other threads that find it in the meantime get torch_musa's attributes from it.
    """

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):  # the import machinery asks for such names before the import has ended
            restore()
        return getattr(sys.modules["torch_musa"], name)


def restore() -> None:
    """Undo what importing the alias did: an entry in sys.modules and an attribute of torch."""
    sys.modules.pop(_NAME, None)
    sys.modules["torch"].musa = sys.modules["torch_musa"]  # type: ignore[attr-defined]


def _asked_by_python(frame: FrameType | None) -> bool:
    """Whether an import statement, or a function of importlib, is looking for the name.

    Other finders may stand between this finder and the import machinery.
    """
    while frame is not None and not _loads_the_name(frame):
        frame = frame.f_back
    if frame is None:  # importlib.util.find_spec, which loads nothing
        return True
    asker = frame.f_back
    return asker is not None and (_of_import_machinery(asker) or _at_import_statement(asker))


def _of_import_machinery(frame: FrameType) -> bool:
    return frame.f_code.co_filename == "<frozen importlib._bootstrap>"


def _loads_the_name(frame: FrameType) -> bool:
    loads = _of_import_machinery(frame) and frame.f_code.co_name == "_find_and_load"
    return loads and frame.f_locals.get("name") == _NAME


def _at_import_statement(frame: FrameType) -> bool:
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_NAME


def install() -> None:
    if not any(type(finder).__name__ == _ForNativeCode.__name__ for finder in sys.meta_path):
        sys.meta_path.append(_ForNativeCode())
