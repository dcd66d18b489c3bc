"""The suites: which files they have, and what their tests need to find."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from outside.parts import Part

HERE = Path(__file__).resolve().parent
#: Tests import `outside` and `support` from here.
TESTS = HERE.parent


@dataclass(frozen=True)
class Suite:
    """Tests of others. `files` are patterns below the checkout's `root`."""

    name: str
    root: str
    files: tuple[str, ...]
    #: Modules of `outside.harness` that are loaded before the tests are.
    harness: str
    #: More arguments of pytest; {root} in them is the folder of the tests.
    arguments: tuple[str, ...] = ()
    #: Folders of the checkout from which its tests import, besides `root`.
    sources: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    #: The list of failures, where it is not called as the suite.
    kept: str = ""
    #: The tests are those of this repository, run on what the checkout has.
    own: bool = False
    #: A module that is run in pytest's place.
    program: str = ""
    #: What stands behind the file in the name of its record, so that the parts of a run have records of their own.
    part: str = ""

    #: The folder of the checkout that tests are run in; without it, that of each file.
    start: str = ""
    #: All files in one process, which takes seconds to begin.
    together: bool = False

    def on(self, release: str) -> Suite:
        """The same tests on another release of torch_musa, with verdicts of their own."""
        env = {**self.env, "MUSASIM_RELEASE": release}
        return replace(self, name=f"{self.name}-{release}", env=env, kept=self.kept or self.name)

    def folder(self, checkout: Path) -> Path:
        """The folder that the files are named from."""
        return (TESTS.parent if self.own else checkout) / self.root

    def command(self, checkout: Path, path: Path) -> list[str]:
        """The process for one of the files."""
        if self.program:
            return [sys.executable, "-m", self.program]
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "outside.recorder", "-p", "no:cacheprovider"]
        return [*pytest, *self.pytest_arguments(checkout, path)]

    def pytest_arguments(self, checkout: Path, path: Path) -> list[str]:
        """What pytest is told, for one of the files."""
        if self.own:
            return [f"--vendor-python={checkout}", *self.arguments, str(path)]
        plain = ["-c", os.devnull, "--rootdir", str(path.parent), "-W", "default"]
        arguments = (argument.replace("{root}", str(self.folder(checkout))) for argument in self.arguments)
        files = self.paths(checkout) if self.together else [path]
        return [*plain, *arguments, *map(str, files)]

    def paths(self, checkout: Path) -> list[Path]:
        """The files of the suite, or an error that says what is missing."""
        root = self.folder(checkout)
        found = {pattern: [path for path in root.glob(pattern) if _is_tests(path)] for pattern in self.files}
        lacking = [pattern for pattern, paths in found.items() if not paths]
        # Of a checkout, another version may lack some; a folder of our own that is gone has moved.
        if lacking and (self.own or len(lacking) == len(found)):
            named = ", ".join(f"{self.root}/{pattern}" for pattern in lacking)
            raise SystemExit(f"{checkout} has no {named}: is it a checkout for the suite {self.name}?")
        return sorted({path for paths in found.values() for path in paths})

    def environment(self, checkout: Path) -> dict[str, str]:
        """What a process of the suite has in its environment."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("TORCHADA_", "OUTSIDE_"))}
        path = [
            str(TESTS),
            str(TESTS.parent / "src"),
            *([str(HERE / "installed")] if self.harness == "vendor" else _startup()),
            str(checkout / self.root),
            *(str(checkout / folder) for folder in self.sources),
            mine.get("PYTHONPATH", ""),
        ]
        if self.harness == "vendor":
            mine["PATH"] = os.pathsep.join([*_commands(), mine.get("PATH", os.defpath)])
        return {
            **mine,
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MUSASIM_RELEASE": "2.7.1",  # the scores that are kept are of this one
            "OUTSIDE_CHECKOUT": str(checkout),
            "OUTSIDE_HARNESS": self.harness,
            **self.env,
        }


def _commands() -> list[str]:
    """Folders of the commands that a machine with torch_musa has: the package's, the toolkit's, and this Python."""
    from musasim import toolkit

    return [str(HERE / "installed" / "bin"), str(toolkit.home() / "bin"), str(Path(sys.executable).parent)]


def _is_tests(path: Path) -> bool:
    if path.is_dir():
        return any(next(path.rglob(pattern), None) is not None for pattern in ("test_*.py", "*_test.py"))
    return path.suffix == ".py" and path.stem != "conftest"


def _startup() -> list[str]:
    """The folder by which processes that tests start are redirected, where torchada is not installed."""
    from torchada.control import startup_files

    folder = startup_files.sitecustomize_folder()
    return [] if startup_files.in_force() is not None or folder is None else [str(folder)]


_PLAIN = {"TORCHADA_DISABLE": "1"}


def _pytorch(
    name: str,
    *files: str,
    harness: str = "torchada",
    without: str = "",
    sources: tuple[str, ...] = (),
    arguments: tuple[str, ...] = (),
    **env: str,
) -> Suite:
    # PyTorch's own conftest.py is for the pytest of its time.
    arguments = ("--noconftest", *(("-k", f"not ({without})") if without else ()), *arguments)
    env = {"TORCHADA_SIMULATE": "1", **env}
    return Suite(name, "test", files, harness, arguments, sources, env)


def _own(mechanism: str, native: str, arguments: tuple[str, ...] = ()) -> Suite:
    # A folder is one process, because each takes seconds to begin. Tests of other folders import no torch_musa, or read sources.
    folders = (
        "areas/*",
        "backends",
        "building",
        "cli",
        "hooks",
        "musasim",
        "packaging",
        "redirect",
        "startup",
        "telemetry",
        "testing",
        "tools/*",
        "torch_battery",
        "views",
    )
    env = {"TORCHADA_NATIVE": native}
    arguments = ("--continue-on-collection-errors", *arguments)
    return Suite(
        f"vendor-python-{mechanism}", "tests", folders, "nothing", arguments, env=env, kept="vendor-python", own=True
    )


def _project(name: str, root: str, *files: str, sources: tuple[str, ...]) -> Suite:
    """Tests of a package that uses CUDA. The capability is one of NVIDIA's: with the chip's own, tests of bfloat16 are skipped."""
    env = {"TORCHADA_SIMULATE": "1", "TORCHADA_CUDA_CAPABILITY": "8.0"}
    return Suite(name, root, files, "nothing", ("--confcutdir=..",), sources, env)


#: Files of PyTorch's whose tests are made for each type of device.
_MADE_FOR_EACH_DEVICE = (
    "test_autograd.py",
    "test_complex.py",
    "test_dlpack.py",
    "test_foreach.py",
    "test_indexing.py",
    "test_linalg.py",
    "test_masked.py",
    "test_modules.py",
    "test_nestedtensor.py",
    "test_nn.py",
    "test_optim.py",
    "test_reductions.py",
    "test_scatter_gather_ops.py",
    "test_segment_reductions.py",
    "test_shape_ops.py",
    "test_sort_and_select.py",
    "test_sparse.py",
    "test_spectral_ops.py",
    "test_tensor_creation_ops.py",
    "test_torch.py",
    "test_transformers.py",
    "test_type_promotion.py",
    "test_view_ops.py",
    "nn/test_*.py",
)


OP_DB = "op-db"
#: Of torch_musa, as MUSASIM_RELEASE names them; the default is the first.
RELEASES = ("2.7.1", "2.9.1", "2.11.0")


def op_db(release: str, mechanism: str, part: Part, only: str) -> Suite:
    """PyTorch's table of operators: those whose names contain `only`, on one release of torch_musa, under one mechanism."""
    env = {
        "TORCHADA_SIMULATE": "1",
        "MUSASIM_RELEASE": release,
        "TORCHADA_NATIVE": str(int(mechanism == "native")),
        "OUTSIDE_PART": str(part),
        "OUTSIDE_ONLY": only,
    }
    suffix = "" if part == Part() else f"-{part.number}-of-{part.count}"
    name = f"{OP_DB}-{release}-{mechanism}"
    program = "outside.op_db"
    return Suite(name, "tests/outside", ("op_db.py",), "torchada", (), (), env, OP_DB, True, program, suffix)


SUITES = {
    suite.name: suite
    for suite in (
        _own("native", "1"),
        # A test marked `once` does not depend on the mechanism.
        _own("portable", "0", ("-m", "not slow and not once")),
        Suite("torch-musa", "tests/unittest", ("*/**/test_*.py",), "vendor", env=_PLAIN),
        _pytorch("test-cuda", "test_cuda.py"),
        _pytorch("test-cuda-trace", "test_cuda_trace.py", "test_cuda_sanitizer.py"),
        _pytorch("test-cuda-context", "test_cuda_primary_ctx.py", "test_cuda_nvml_based_avail.py"),
        _pytorch("test-autocast", "test_autocast.py"),
        _pytorch("test-cuda-multigpu", "test_cuda_multigpu.py"),
        _pytorch("test-nccl", "distributed/test_c10d_nccl.py", sources=("test/distributed",)),
        # Its tests read warnings from stderr, where Python itself writes them unless pytest takes them.
        _pytorch(
            "test-cudagraph-trees",
            "inductor/test_cudagraph_trees.py",
            harness="torchada_inductor",
            arguments=("-p", "no:logging"),
        ),
        _pytorch("test-data", "test_dataloader.py", "test_serialization.py", harness="torchada_cuda_only"),
        _pytorch("test-accelerator", "test_accelerator.py", "test_cuda_compatibility.py"),
        # With the chip's own capability, its tests are skipped.
        _pytorch("test-varlen", "test_varlen_attention.py", harness="torchada_devices", TORCHADA_CUDA_CAPABILITY="8.0"),
        _pytorch("test-devices", *_MADE_FOR_EACH_DEVICE, harness="torchada_devices"),
        Suite("torchada-0.1", "tests", ("test_*.py",), "earlier", env={"TORCHADA_SIMULATE": "1"}),
        _pytorch("test-multiprocessing", "test_multiprocessing.py", harness="torchada_cuda_only"),
        _pytorch(
            "test-triton",
            "inductor/test_triton_kernels.py",
            harness="torchada_triton",
            # Twelve tests with 131,072 programs in each launch, which take an interpreter hours.
            without="2d_autotune and grid_type_1",
            MUSASIM_INDUCTOR="triton",
        ),
        _project("liger", "test/transformers", "test_*.py", sources=(".", "src")),
    )
}
