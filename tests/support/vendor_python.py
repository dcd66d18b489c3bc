"""The vendor's own Python package over the simulator's C extension: the nearest to a real torch_musa that needs no hardware.

torch_musa's Python part is public, and its native part is what musasim simulates. `make(checkout, folder)` puts the former into a
folder; with that folder on the path, `import torch_musa` is the vendor's. torch has to be the version that the checkout is for.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

#: Where conftest.py keeps the folder, for the workers of pytest-xdist and for fresh interpreters.
VARIABLE = "VENDOR_PYTHON_FOLDER"

#: What the simulated native part stands for: the newest release whose Python is public as a whole.
RELEASE = "2.7.1"

#: For tests on the simulator's Python: its torch_musa imports torch.utils.cpp_extension as well, as the vendor's does.
IMPORTS_THE_BUILDER = """
import sys
class Also:
    def find_spec(self, name, path=None, target=None):
        if name == "torch_musa.version":
            import torch.utils.cpp_extension
sys.meta_path.insert(1, Also())
"""

# The package's own import of torch comes first: what torch imports meanwhile finds the package begun, and its _autoload.
_IMPORT = "\nimport torch\n"
_BEGIN = """import vendor_bootstrap as _bootstrap
_bootstrap.prepare(sys.modules[__name__])
"""
# The native part of torch_musa adds the legacy tensor types at its end.
_END = """
_bootstrap.finish(globals())
"""
#: Where the patched files of torch are, which vendor_bootstrap.py finds.
PATCHED = "torch_patched"
#: The parts of torch whose patches are applied: the simulator has none of its own for them, or not for their Python.
_PARTS = ("_dynamo", "_functorch", "_inductor", "_prims", "distributed_fsdp", "distributed_pipelining")
#: How messages begin that PyTorch has for the package's own calls.
WARNINGS = ("`torch._utils.is_compiling` is deprecated",)
# Files that the vendor's build writes, with what the Python part needs of them.
_GENERATED = {
    "version.py": '__version__ = "{version}"\ngit_version = "unknown"\n',
    "_inductor/codegen/fallback_ops.py": "inductor_fallback_ops = set()\n\n\ndef __getattr__(name):\n    return set()\n",
}


def make(checkout: Path, folder: Path) -> Path:
    """Put the package of `checkout` into `folder`, which must not have one yet, and complete it."""
    source = checkout / "torch_musa"
    if not (source / "core" / "_lazy_init.py").is_file():
        raise SystemExit(f"{checkout} is no checkout of torch_musa: it has no torch_musa/core/_lazy_init.py")
    package = folder / "torch_musa"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("csrc", "*.cpp", "*.h", "*.mu", "__pycache__"))
    version = (checkout / "version.txt").read_text(encoding="utf-8").strip().split("+")[0].removeprefix("v")
    for name, text in _GENERATED.items():
        (package / name).write_text(text.format(version=version), encoding="utf-8")
    begin = package / "__init__.py"
    text = begin.read_text(encoding="utf-8").replace(_IMPORT, _IMPORT + _BEGIN, 1)
    begin.write_text(text + _END, encoding="utf-8")
    shutil.copy(Path(__file__).with_name("vendor_bootstrap.py"), folder)
    _patch_torch(checkout / "torch_patches", folder / PATCHED)
    _add_native_parts(package)
    return folder


def _patch_torch(patches: Path, folder: Path) -> None:
    """Copies of files of torch that the vendor's torch has changed, with the vendor's changes."""
    torch = importlib.util.find_spec("torch")
    assert torch is not None and torch.origin is not None
    # Inductor reads headers that stand beside its modules.
    inductor, no_modules = Path("torch/_inductor"), shutil.ignore_patterns("*.py", "__pycache__")
    shutil.copytree(Path(torch.origin).parents[1] / inductor, folder / inductor, ignore=no_modules)
    for patch in (each for part in _PARTS for each in sorted(patches.rglob(f"torch_{part}*.py.patch"))):
        # Its name has underscores for the slashes of the path, and the text has the path.
        name = next(line for line in patch.read_text(encoding="utf-8").splitlines() if line.startswith("+++ b/"))[6:]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(torch.origin).parents[1] / name, folder / name)
        subprocess.run(
            ["git", "apply", "--whitespace=nowarn", str(patch)],
            cwd=folder,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
            check=True,
        )


def _add_native_parts(package: Path) -> None:
    """Headers and libraries for extensions, in the folders where the vendor's package has them: the simulator's."""
    import musasim
    from musasim import build
    from musasim.base import torch_headers

    generated = Path(torch_headers.folders()[1]) / package.name
    for name in ("csrc", "share"):
        for source in (generated / name, Path(musasim.__file__).parent / package.name / name):
            if source.is_dir():
                shutil.copytree(source, package / name, dirs_exist_ok=True)
    (package / "lib").symlink_to(build.build().parent)


def provide_toolkit() -> None:
    """Let MUSA_HOME be the simulated toolkit, which the vendor's Python cannot find by itself, unless one is there."""
    from musasim import toolkit

    os.environ.setdefault("MUSA_HOME", str(toolkit.home()))


def completed(environment: Mapping[str, str], *, simulated: bool | None = None) -> dict[str, str]:
    """`environment` for a process that a test starts: with the package in front, if the tests run on it and there is a device."""
    folder, path = os.environ.get(VARIABLE), environment.get("PYTHONPATH", "")
    if simulated is None:
        # A face of the simulator is another adapter.
        simulated = environment.get("TORCHADA_SIMULATE") == "1" and "MUSASIM_FACE" not in environment
    if not folder or not simulated or folder in path.split(os.pathsep):
        return dict(environment)
    return {**environment, "PYTHONPATH": path_with(folder, path), "MUSASIM_RELEASE": RELEASE}


def path_with(folder: str, before: str | None) -> str:
    """PYTHONPATH with the vendor's package in front."""
    return os.pathsep.join(filter(None, [folder, before]))


def main() -> None:
    """`python vendor_python.py CHECKOUT FOLDER`."""
    checkout, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True)
    print(f"PYTHONPATH={make(checkout.resolve(), folder.resolve())}")


if __name__ == "__main__":
    main()
