"""PYTORCH_CUDA_ALLOC_CONF reaches the backend's allocator, with the options that it knows."""

from __future__ import annotations

import pytest

from support.interpreter import TORCH, Interpreter
from torchada.backends.musa import MUSA
from torchada.redirect.mirrors.allocator import AllocatorSettings

pytestmark = [pytest.mark.musa, pytest.mark.once]

SHOW = """
import os, torch
torch.zeros(1, device="cuda")
print(os.environ.get("PYTORCH_MUSA_ALLOC_CONF"))
"""
CUDA, GENERIC, OWN = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_MUSA_ALLOC_CONF"


@pytest.mark.full
@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({CUDA: "expandable_segments:True"}, "expandable_segments:True"),
        ({GENERIC: "max_split_size_mb:64"}, "max_split_size_mb:64"),
        ({CUDA: "max_split_size_mb:32", GENERIC: "max_split_size_mb:64"}, "max_split_size_mb:32"),
        ({CUDA: "max_split_size_mb:32", OWN: "max_split_size_mb:64"}, "max_split_size_mb:64"),
    ],
)
def test_the_variable_counts_unless_the_backends_own_is_set(
    musa: Interpreter, env: dict[str, str], expected: str
) -> None:
    assert musa.run(SHOW, env=env, forked=True).stdout.split() == [expected]


def test_options_that_the_allocator_lacks_are_left_out_and_named_once(musa: Interpreter) -> None:
    """The allocator raises an error at the first use of a device where it does not know an option."""
    given = "backend:cudaMallocAsync,release_lock_on_cudamalloc:True,throw_on_cudamalloc_oom:True"
    done = musa.run(SHOW, env={CUDA: given})
    assert done.stdout.split() == ["release_lock_on_musamalloc:True"]
    what = "PYTORCH_CUDA_ALLOC_CONF: backend:cudaMallocAsync, throw_on_cudamalloc_oom:True is left out"
    assert done.stderr.count(what) == 1


# What later releases of torch_musa have added, by the release.
ADDED = {
    "2.9.1": ["graph_capture_record_stream_reuse:True", "max_non_split_rounding_mb:64"],
    "2.11.0": ["large_segment_size_mb:40", "per_process_memory_fraction:0.5", "pinned_reserve_segment_size_mb:4"],
}
RELEASES = ["2.7.1", *ADDED]
AT_RUN_TIME = """
import os, torch
torch.cuda.memory._set_allocator_settings(os.environ["GIVEN"])
print(torch.cuda.memory._snapshot()["allocator_settings"]["PYTORCH_MUSA_ALLOC_CONF"])
"""


def of_release(release: str) -> tuple[list[str], list[str]]:
    """What `release` has of these options, and what it lacks."""
    known = RELEASES[: RELEASES.index(release) + 1]
    has = [option for name in known for option in ADDED.get(name, [])]
    return has, [option for options in ADDED.values() for option in options if option not in has]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("source", [CUDA, GENERIC])
def test_options_of_the_variable_are_those_of_the_installed_release(
    musa: Interpreter, release: str, source: str
) -> None:
    has, lacks = of_release(release)
    done = musa.run(SHOW, env={"MUSASIM_RELEASE": release, source: ",".join([*has, *lacks, "max_split_size_mb:64"])})
    assert done.stdout.split() == [",".join([*has, "max_split_size_mb:64"])]
    assert (f"{source}: {', '.join(lacks)} is left out" in done.stderr) == bool(lacks)


@pytest.mark.parametrize("release", RELEASES)
def test_options_that_a_program_sets_are_those_of_the_installed_release(musa: Interpreter, release: str) -> None:
    has, lacks = of_release(release)
    given = ",".join([*has, *lacks, "pinned_use_cuda_host_register:False"])
    done = musa.run(AT_RUN_TIME, env={"MUSASIM_RELEASE": release, "GIVEN": given}, forked=True)
    assert done.stdout.split() == [",".join([*has, "pinned_use_musa_host_register:False"])]
    assert (f"_set_allocator_settings: {', '.join(lacks)} is left out" in done.stderr) == bool(lacks)


def test_where_nothing_remains_the_backend_does_not_read_torchs_variable_itself(musa: Interpreter) -> None:
    """Since 2.11.0 torch_musa reads PYTORCH_ALLOC_CONF where its own variable is not set, and would refuse this option."""
    done = musa.run("import torch; torch.zeros(1, device='cuda')", env={GENERIC: "throw_on_cudamalloc_oom:True"})
    assert "throw_on_cudamalloc_oom:True is left out" in done.stderr


@pytest.mark.full
def test_the_release_is_looked_up_where_an_option_depends_on_it(musa: Interpreter) -> None:
    show = "import sys, torch; print('torchada.backends.releases' in sys.modules)"
    assert musa.run(show, env={CUDA: "max_split_size_mb:64"}).stdout.split() == ["False"]
    assert musa.run(show, env={CUDA: "per_process_memory_fraction:0.5"}).stdout.split() == ["True"]


def test_options_that_cuda_lacks_too_are_refused_when_a_program_sets_them(musa: Interpreter) -> None:
    code = """
    import torch
    change = torch.cuda.memory._set_allocator_settings
    for settings in ("foo:1,bar:2", "max_split_size_mb:64,foo:1"):
        try:
            change(settings)
        except RuntimeError as error:
            print("foo" in str(error))
    change("throw_on_cudamalloc_oom:True,max_split_size_mb:48")
    print(torch.cuda.memory._snapshot()["allocator_settings"]["max_split_size"])
    """
    done = musa.run(code, forked=True)
    assert done.stdout.split() == ["True", "True", str(48 << 20)]
    assert "throw_on_cudamalloc_oom:True is left out" in done.stderr


@pytest.mark.skipif(TORCH < (2, 10), reason="this torch has no such name")
def test_the_name_that_newer_torch_has_for_every_accelerator(musa: Interpreter) -> None:
    code = """
    import torch
    torch._C._accelerator_setAllocatorSettings("max_split_size_mb:48")
    print(torch.cuda.memory._snapshot()["allocator_settings"]["max_split_size"])
    """
    assert musa.run(code, forked=True).stdout.split() == [str(48 << 20)]


@pytest.mark.full
def test_a_value_that_the_program_sets_before_the_first_use_counts(musa: Interpreter) -> None:
    code = f"import os, torch; os.environ[{CUDA!r}] = 'max_split_size_mb:48'\n" + SHOW
    assert musa.run(code, env={CUDA: "max_split_size_mb:32"}, forked=True).stdout.split() == ["max_split_size_mb:48"]
    code = f"import os, torch; del os.environ[{CUDA!r}]\n" + SHOW
    assert musa.run(code, env={CUDA: "max_split_size_mb:32"}, forked=True).stdout.split() == ["None"]


@pytest.mark.full
def test_a_child_with_another_value_is_not_bound_by_our_copy_and_undo_removes_it(musa: Interpreter) -> None:
    code = f"""
import os, subprocess, sys, torch, torchada
env = dict(os.environ, {CUDA}="max_split_size_mb:48")
print(subprocess.run([sys.executable, "-c", {SHOW!r}], env=env, capture_output=True, text=True).stdout)
torchada.disable()
print(os.environ.get({OWN!r}), [name for name in os.environ if name.startswith("TORCHADA_MIRRORED")])
"""
    done = musa.run(code, env={CUDA: "max_split_size_mb:32"}, forked=True)
    assert done.stdout.split() == ["max_split_size_mb:48", "None", "[]"]


def test_brackets_hold_one_option_together() -> None:
    assert MUSA.allocator is not None
    given = " roundup_power2_divisions:[256:1,512:2,>:8] , pinned_use_cuda_host_register:True,"
    translated = AllocatorSettings(MUSA, MUSA.allocator).translated(given, "a test")
    assert translated == "roundup_power2_divisions:[256:1,512:2,>:8],pinned_use_musa_host_register:True"
