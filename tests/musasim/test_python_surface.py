"""Importing torch_musa, what it changes in torch, and when it initialises the device."""

# ruff: noqa: E402

from __future__ import annotations

import pytest

import musasim

musasim.install()

import torch
import torch_musa

from musasim.base import release
from support.fresh_process import run
from support.plain_torch import plain_torch  # noqa: F401

pytestmark = pytest.mark.once

# --- import ---------------------------------------------------------------------------------------------------------


def test_import_twice_and_reload_keep_one_layer_of_patches() -> None:
    run("""
        import importlib, torch, torch_musa
        from torch.serialization import _package_registry
        before = (torch.Tensor.orig_to, torch.UntypedStorage.is_shared_old, len(_package_registry), torch_musa.FloatTensor)
        x = torch.ones(2, device="musa")
        importlib.reload(torch_musa)
        after = (torch.Tensor.orig_to, torch.UntypedStorage.is_shared_old, len(_package_registry), torch_musa.FloatTensor)
        assert before == after
        assert torch.musa is torch_musa and not hasattr(torch.musa, "_vendor_torch")
        assert (x + x).to(1).tolist() == [2, 2] and not torch.is_autocast_enabled()
        with torch.random.fork_rng():
            pass
    """)


@pytest.mark.full
def test_import_by_autoload_inside_import_torch(tmp_path) -> None:
    """An installed torch_musa has an entry point, which torch loads before its own import is complete."""
    info = tmp_path / "fake_vendor-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-vendor\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_musa = torch_musa:_autoload\n")
    for first in ("import torch", "import torch_musa"):
        run(
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{first}\n"
            "import sys, torch; assert 'torch_musa' in sys.modules and torch.ones(1, device='musa').is_musa",
            forked=False,
            TORCH_DEVICE_BACKEND_AUTOLOAD="1",
        )


def test_import_refuses_an_old_torch() -> None:
    error = run("import torch; torch.__version__ = '2.6.0'; import torch_musa", ok=False)
    assert "RuntimeError: torch_musa needs torch 2.7.1 or newer" in error


def test_import_is_refused_when_another_backend_is_registered() -> None:
    error = run("import torch; torch.utils.rename_privateuse1_backend('npu'); import torch_musa", ok=False)
    assert "'npu' is already registered" in error


def test_import_loads_few_modules_and_initialises_no_device() -> None:
    run("""
        import torch, sys
        before = set(sys.modules)
        import torch_musa
        assert not torch.musa.is_initialized()
        heavy = {"torch._dynamo", "torch._inductor", "torch.distributed.distributed_c10d", "torch.fx", "sympy", "numpy"}
        assert not heavy & (set(sys.modules) - before)
        assert len(set(sys.modules) - before) < 135
    """)


# --- changes in torch -----------------------------------------------------------------------------------------------


def test_patches_of_the_real_package_are_in_place() -> None:
    assert torch.random.fork_rng is torch.musa.fork_rng
    assert torch.cuda._lazy_init is torch.musa._lazy_init and torch.cuda._lazy_call is torch.musa._lazy_call
    assert torch.backends.mudnn is torch_musa.core.mudnn
    assert torch.profiler.ProfilerActivity.PrivateUse1 == torch.profiler.ProfilerActivity.MUSA
    assert not torch.cuda.is_available()


def test_mudnn_flags() -> None:
    assert torch.backends.mudnn.allow_tf32 is True and isinstance(torch.backends.mudnn.version(), int)
    with torch.backends.mudnn.flags(allow_tf32=False):
        assert torch.backends.mudnn.allow_tf32 is False
    assert torch.backends.mudnn.allow_tf32 is True
    with torch.backends.__allow_nonbracketed_mutation():  # PyTorch's own test helpers forbid it to the whole process
        torch.backends.mudnn.allow_tf32 = False
    assert torch.backends.mudnn.set_flags(True) == (False,)
    assert torch.backends.mudnn.allow_tf32 is True


def test_mccl_has_a_version_and_no_collectives() -> None:
    expected = (2, 28, 9) if release.since("2.9.1") else (2, 11, 5)
    assert torch.musa.mccl.version() == expected and not hasattr(torch.musa.mccl, "all_reduce")
    assert torch.musa._MUSAC._mccl_version_suffix() == b"", "torch_musa's Python decodes it"


def test_autocast_functions_without_a_device_mean_musa() -> None:
    assert not torch.is_autocast_enabled()
    torch.set_autocast_enabled(True)
    try:
        assert torch.is_autocast_enabled() and torch.is_autocast_enabled("musa")
        assert not torch.is_autocast_enabled("cuda") and not torch.is_autocast_enabled("cpu")
    finally:
        torch.set_autocast_enabled("musa", False)
    assert not torch.is_autocast_enabled()


# --- initialisation -------------------------------------------------------------------------------------------------


def test_first_tensor_initialises_and_runs_what_was_queued() -> None:
    run("""
        import torch, torch_musa
        order = []
        torch.musa._lazy_call(lambda: order.append("queued"))
        assert not torch.musa.is_initialized() and order == []
        torch.zeros(1, device="musa")
        assert torch.musa.is_initialized() and order == ["queued"]
        torch.musa._lazy_call(lambda: order.append("at once"))
        assert order == ["queued", "at once"]
    """)


def test_native_code_finds_the_module_through_other_finders() -> None:
    """Some finders ask the remaining ones themselves, and so stand between torch_musa's finder and the importing code."""
    run("""
        import sys, torch, torch_musa

        class Asks:
            def find_spec(self, name, path=None, target=None):
                for finder in sys.meta_path:
                    if finder is not self and (found := finder.find_spec(name, path, target)):
                        return found

        sys.meta_path.insert(0, Asks())
        for statement in ("import torch.musa", "import torch.musa.amp", "__import__('importlib').import_module('torch.musa')"):
            try:
                exec(statement)
            except ModuleNotFoundError:
                continue
            raise AssertionError(statement)
        assert torch.ones(1, device="musa").is_musa and torch.musa.is_initialized()
        assert torch.musa is torch_musa and "torch.musa" not in sys.modules
    """)


def test_failing_queued_call_reports_where_it_was_queued() -> None:
    error = run(
        """
        import torch, torch_musa
        def come_from_here(): torch.musa._lazy_call(lambda: 1 / 0)
        come_from_here()
        torch.musa.synchronize()
        """,
        ok=False,
    )
    assert "DeferredMusaCallError: MUSA call failed lazily" in error and "come_from_here" in error


@pytest.mark.full
def test_latest_seed_before_initialisation_wins() -> None:
    run("""
        import torch, torch_musa
        torch.musa.manual_seed_all(1); torch.musa.manual_seed(2)
        assert torch.musa.initial_seed() == 2
        assert torch.musa.default_generators[1].initial_seed() == 1
    """)
    run("""
        import torch, torch_musa
        torch.musa.manual_seed(2); torch.manual_seed(7)
        assert torch.musa.initial_seed() == 7 and torch.initial_seed() == 7
    """)


@pytest.mark.full
@pytest.mark.parametrize("draw", ["seed", "seed_all"])
def test_a_given_seed_before_initialisation_outlasts_a_random_one(draw: str) -> None:
    """As in torch.cuda: random seeds are drawn with the other deferred calls, before the seeds that were given."""
    run(f"""
        import torch, torch_musa
        torch.musa.manual_seed_all(5)
        torch.musa.{draw}()
        assert torch.musa.initial_seed() == torch.musa.default_generators[1].initial_seed() == 5
    """)


@pytest.mark.full
@pytest.mark.parametrize("touch", ["torch.zeros(1, device='musa')", "torch.musa.device_count()"])
def test_forked_child_of_a_process_that_used_the_device(touch: str) -> None:
    run(f"""
        import os, torch, torch_musa
        {touch}
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                torch.zeros(1, device="musa")
                os.write(write, b"no error")
            except RuntimeError as error:
                os.write(write, str(error).encode())
            os._exit(0)
        os.wait()
        text = os.read(read, 10000).decode()
        assert "Cannot re-initialize MUSA in forked subprocess" in text, text
        assert not torch.musa._is_in_bad_fork()
    """)


def test_process_that_has_not_used_the_device_may_fork() -> None:
    run("""
        import os, torch, torch_musa
        child = os.fork()
        if child == 0:
            os._exit(int(torch.ones(3, device="musa").sum().item()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    """)


def test_without_a_device_queries_answer_and_tensors_raise() -> None:
    run(
        """
        import torch, torch_musa
        assert torch.musa.device_count() == 0 and not torch.musa.is_available()
        assert torch.musa.get_arch_list() == [] and torch.musa.memory_stats is not None
        # The package is there, and so "musa" is, for torch_musa.
        assert not torch.musa.amp_definitely_not_available() and torch.musa.amp.GradScaler().is_enabled()
        assert torch.ones(2).sum() == 2
        for ask in (lambda: torch.musa.set_device(None), lambda: torch.musa.stream(None)):
            try:
                ask()
            except ValueError as error:
                assert "Moore Threads GPUs are not available" in str(error)
            else:
                raise AssertionError("no error")
        try:
            torch.zeros(1, device="musa")
        except RuntimeError as error:
            print(error)
        else:
            raise AssertionError("no error")
        """,
        MUSASIM_DEVICE_COUNT="0",
    )


@pytest.mark.full
def test_program_may_end_right_after_a_backward_pass() -> None:
    """Autograd's threads must release their Python objects first, or one run in three aborts: at the end they get the time."""
    program = """
        import torch, torch_musa
        from types import SimpleNamespace
        from torch_musa._vendor_torch import exit as ending
        sleep = ending.time.sleep
        ending.time = SimpleNamespace(sleep=lambda seconds: (sleep(seconds), print("waited", seconds > 0, flush=True)))
        if {uses_the_device}:
            x = torch.ones(1000, device="musa", requires_grad=True)
            (x * 2).sum().backward()
        print("ends", flush=True)
    """
    assert run(program.format(uses_the_device=True), forked=False).split() == ["ends", "waited", "True"]
    assert run(program.format(uses_the_device=False), forked=False).split() == ["ends"]


# --- errors ---------------------------------------------------------------------------------------------------------


def test_runtime_errors_become_musa_errors() -> None:
    success = torch.musa.musart().musaError.success
    torch.musa.check_error(success)
    with pytest.raises(torch.musa.MusaError, match=r"\(2\)"):
        torch.musa.check_error(2)
    assert issubclass(torch.musa.MusaError, RuntimeError)
    assert torch.musa.OutOfMemoryError is torch.OutOfMemoryError


def test_unified_memory_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    with torch.musa.use_unified_cpu_allocator():
        assert torch.ones(2).sum() == 2
    assert os.environ["CPU_UNIFIED_FLAG"] == "False"
    monkeypatch.setenv("PYTORCH_MUSA_ALLOC_CONF", "cpu:unified")
    monkeypatch.setenv("CPU_UNIFIED_FLAG", "False")
    torch.musa.parseEnvForUMM()
    assert os.environ["CPU_UNIFIED_FLAG"] == "True"
    with torch.musa.use_unified_cpu_allocator():
        pass  # its end takes the allocator back that the setting has put in force for the whole process
