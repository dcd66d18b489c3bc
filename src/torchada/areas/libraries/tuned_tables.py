"""SGLang and vLLM: a folder of the user's with tables that were tuned for this chip.

Both look up how to launch their kernels for mixtures of experts in tables, and have few for other chips than NVIDIA's and AMD's. A
variable of theirs names a folder with more. It replaces SGLang's own, so it is set only if that folder has a table for the chip.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.owners import MISSING, Variables

if TYPE_CHECKING:
    from collections.abc import Iterable


def sglang(context: Context) -> Iterator[Patch]:
    """SGLang reads FOLDER/configs/triton_3_2_0/TABLE.json, or the tables of another version of Triton where this one has none."""
    folder, tables = _tables(context)
    if not tables:
        raise Skip(f"no table for this chip in {folder / 'configs'}")
    yield _variable("SGLANG_MOE_CONFIG_DIR", folder, "SGLang's tables for mixtures of experts")


def vllm(context: Context) -> Iterator[Patch]:
    """vLLM reads FOLDER/TABLE.json, whatever version of Triton it was tuned with."""
    of_version = f"triton_{_triton_version().replace('.', '_')}"
    folder, tables = _tables(context)
    if folder / "configs" / of_version not in tables:
        raise Skip(f"no table for this chip in {folder / 'configs' / of_version}")
    yield _variable(
        "VLLM_TUNED_CONFIG_FOLDER", folder / "configs" / of_version, "vLLM's tables for mixtures of experts"
    )


def _triton_version() -> str:
    try:
        return version("triton").partition("+")[0]
    except PackageNotFoundError as missing:
        raise Skip("Triton is not installed") from missing


def _tables(context: Context) -> tuple[Path, set[Path]]:
    """The folder for tables, and those of its folders that have one for this chip."""
    folder = Path(context.settings.tuned_tables).expanduser()
    files = list((folder / "configs").glob("triton_*/*.json"))
    # The device is asked for its name, and thereby initialised, only by those who have tables.
    return folder, set(_of_chip(context, files)) if files else set()


def _of_chip(context: Context, files: Iterable[Path]) -> Iterator[Path]:
    cuda: Any = context.torch.cuda
    name = f"device_name={cuda.get_device_name().replace(' ', '_')}"
    for file in files:
        if name in file.stem.split(","):
            yield file.parent


def _variable(name: str, folder: Path, note: str) -> Patch:
    variables = Variables()
    if variables.get(name) is not MISSING:
        raise Skip(f"{name} is set")
    return Patch(variables, name, str(folder), None, to=str(folder), note=note)
