"""torch.backends.cuda and torch.backends.cudnn: what asks, what switches, and what is not there."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter
from torchada.building.cuda_home_files import VERSION
from torchada.redirect.unsupported import UnsupportedError

pytestmark = pytest.mark.once

cuda: Any = torch.backends.cuda
cudnn: Any = torch.backends.cudnn
mudnn: Any = torch.backends.mudnn  # type: ignore[attr-defined]
#: The backend's switch for matrix products: torch_musa 2.7.1 has one for these and convolutions.
products: Any = torch.backends.musa.matmul if hasattr(torch.backends, "musa") else mudnn
ONE_FOR_BOTH = products is mudnn
PRODUCTS = 'products = torch.backends.musa.matmul if hasattr(torch.backends, "musa") else torch.backends.mudnn'
NEW_PRECISION = pytest.mark.skipif(
    not hasattr(torch._C, "_set_fp32_precision_setter"), reason="this torch has no fp32_precision"
)


@pytest.fixture(autouse=True)
def _switches_as_they_were() -> Iterator[None]:
    yield
    if hasattr(torch._C, "_set_fp32_precision_setter"):
        for operator in ("matmul", "conv", "all"):
            torch._C._set_fp32_precision_setter("cuda", operator, "none")
        torch._C._set_fp32_precision_setter("generic", "all", "none")
    torch.set_float32_matmul_precision("highest")
    cudnn.allow_tf32 = products.allow_tf32 = mudnn.allow_tf32 = True
    cuda.matmul.allow_tf32 = False
    cudnn.benchmark = cudnn.deterministic = False
    cudnn.enabled = True


# --- which platform is this ----------------------------------------------------------------------------------------

DETECTION = """
import json, torch
from torch.version import cuda
print(json.dumps([torch.cuda.is_available(), torch.backends.cuda.is_built(), torch.backends.cudnn.is_available(),
                  torch.backends.cudnn.is_acceptable(torch.zeros(2, device="cuda" if KNOWN else "cpu")),
                  torch.backends.cudnn.version(), torch.version.cuda, cuda]))
"""


@pytest.mark.full
def test_code_that_knows_musa_gets_torchs_own_answers(musa: Interpreter) -> None:
    """A CPU build of torch says no to all of it."""
    code = DETECTION.replace("KNOWN", '"musa" == 0')
    own = musa.json(code, env={"TORCHADA_DISABLE": "1"}, forked=True)
    assert musa.json(code, forked=True) == own and own[0] is False
    if own[-1] is None:
        assert own == [False, False, False, False, None, None, None]


@pytest.mark.full
def test_code_that_knows_cuda_alone_gets_the_answers_of_the_device(musa: Interpreter) -> None:
    *found, version, cuda_version, imported = musa.json(DETECTION.replace("KNOWN", "True"), forked=True)
    assert found == [True, True, True, True] and version == mudnn.version()
    assert cuda_version == imported == VERSION


def test_detection_under_force(musa: Interpreter) -> None:
    code = DETECTION.replace("KNOWN", '"musa"')
    *found, version, _, _ = musa.json(code, env={"TORCHADA_FORCE_CUDA_AVAILABLE": "1"}, forked=True)
    assert found == [True, True, True, False] and version == mudnn.version()


def test_a_version_that_a_program_sets_is_kept(musa: Interpreter) -> None:
    code = """
        import torch, torchada
        torch.version.cuda = "99.1"
        torchada.disable()
        assert torch.version.cuda == vars(torch.version)["cuda"] == "99.1" and type(torch.version) is type(torch)
    """
    musa.run(code, forked=True)


@pytest.mark.full
def test_code_that_knows_cuda_alone_reads_the_version_that_it_has_set(musa: Interpreter) -> None:
    code = """
    import torch, torch.version
    from unittest import mock
    before, own = torch.version.cuda, vars(torch.version)["cuda"]
    with mock.patch("torch.version.cuda", "11.0"):
        print(torch.version.cuda)
    torch.version.cuda = "12.1"
    print(torch.version.cuda)
    torch.version.cuda = before
    print(torch.version.cuda == before, vars(torch.version)["cuda"] == own)
    """
    assert musa.run(code, forked=True).stdout.split() == ["11.0", "12.1", "True", "True"]


@pytest.mark.full
def test_has_cuda_and_has_cudnn_agree(musa: Interpreter, plain: Interpreter) -> None:
    code = """
        import warnings, torch
        warnings.simplefilter("ignore")
        print(torch.has_cuda, torch.has_cudnn)
    """
    assert musa.run(code, forked=True).stdout.split() == ["True", "True"]
    built = plain.run(code, forked=True).stdout  # a build of torch for CUDA says so without a GPU
    assert musa.run(code, env={"TORCHADA_VIEW": "musa"}, forked=True).stdout == built


@pytest.mark.full
def test_torch_itself_goes_on_under_force(musa: Interpreter) -> None:
    """Where is_built() is True, torch's own modules would import from torch._C what a CUDA build has there."""
    musa.run(
        """
        import torch, warnings
        import torch._inductor.cudagraph_trees
        torch.compiler.cudagraph_mark_step_begin()
        with torch.backends.cudnn.flags(enabled=True, benchmark=True, benchmark_limit=3):
            assert torch.backends.cudnn.benchmark
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert torch.has_cuda and torch.has_cudnn
        from torch.utils.benchmark import Timer
        assert Timer("x + 1", globals={"x": torch.ones(2, device="cuda")}).timeit(3).mean > 0
        """,
        env={"TORCHADA_FORCE_CUDA_AVAILABLE": "1"},
        forked=True,
    )


# --- TF32 ------------------------------------------------------------------------------------------------------------


def backends_switches(products: bool, convolutions: bool) -> tuple[bool, bool]:
    """The backend's two switches, where CUDA's allow this to each. One for both is on while neither is refused."""
    return (products and convolutions,) * 2 if ONE_FOR_BOTH else (products, convolutions)


def switches() -> tuple[bool, bool]:
    return products.allow_tf32, mudnn.allow_tf32


def test_matmul_allow_tf32_is_the_backends_switch() -> None:
    for wanted in (False, True):
        cuda.matmul.allow_tf32 = wanted
        assert cuda.matmul.allow_tf32 is wanted and switches() == backends_switches(wanted, True)
    products.allow_tf32 = False
    assert cuda.matmul.allow_tf32 is False and cudnn.allow_tf32 is not ONE_FOR_BOTH


def test_cudnn_allow_tf32_is_the_backends_switch() -> None:
    cuda.matmul.allow_tf32 = True
    for wanted in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cudnn.allow_tf32 = wanted
        assert cudnn.allow_tf32 is wanted and switches() == backends_switches(True, wanted)


def test_a_refusal_of_tf32_is_kept() -> None:
    """CUDA has two switches. Where the backend has one, it is on only while neither is off; each reads as it was set."""
    for allowed in ((False, True), (True, False), (True, True)):
        cuda.matmul.allow_tf32, cudnn.allow_tf32 = allowed
        assert (cuda.matmul.allow_tf32, cudnn.allow_tf32) == allowed and switches() == backends_switches(*allowed)


STARTS = f"""
import json, torch
from torch.backends import cuda, cudnn
{PRODUCTS}
print(json.dumps([cuda.matmul.allow_tf32, torch.get_float32_matmul_precision(), cudnn.allow_tf32, products.allow_tf32]))
"""


def test_precision_starts_as_on_cuda(musa: Interpreter) -> None:
    """A downstream project measured an error of 0.35 rad in the angles of rotary embeddings, computed with TF32."""
    assert musa.json(STARTS, forked=True) == [False, "highest", True, False]


def test_precision_starts_as_the_vendors_by_the_variable(musa: Interpreter) -> None:
    expected = [True, "high", True, True] if ONE_FOR_BOTH else [False, "highest", True, False]
    assert musa.json(STARTS, env={"TORCHADA_VENDOR_PRECISION": "1"}, forked=True) == expected


@pytest.mark.full
def test_a_program_that_allows_tf32_gets_it(musa: Interpreter) -> None:
    for allow in ("cuda.matmul.allow_tf32 = True", "torch.set_float32_matmul_precision('high')"):
        code = STARTS.replace("print", f"{allow}\nprint")
        assert musa.json(code, forked=True) == [True, "high", True, True]


def test_undo_gives_the_vendors_switch_back(musa: Interpreter) -> None:
    code = f"import torch, torchada; torchada.disable(); {PRODUCTS}; print(products.allow_tf32)"
    assert musa.run(code, forked=True).stdout.strip() == str(ONE_FOR_BOTH)


def test_float32_matmul_precision_follows() -> None:
    for precision, allowed in (("highest", False), ("high", True), ("medium", True)):
        torch.set_float32_matmul_precision(precision)
        assert torch.get_float32_matmul_precision() == precision
        assert cuda.matmul.allow_tf32 is allowed and products.allow_tf32 is allowed
    torch.set_float32_matmul_precision("highest")  # from "medium", torch itself refuses what follows
    cuda.matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"


def test_saving_and_setting_the_precision_again_changes_nothing(musa: Interpreter) -> None:
    musa.run(
        f"""
        import torch
        {PRODUCTS}
        before = products.allow_tf32
        saved = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        assert not products.allow_tf32
        torch.set_float32_matmul_precision(saved)
        assert products.allow_tf32 == before == torch.backends.cuda.matmul.allow_tf32
        """,
        forked=True,
    )


@NEW_PRECISION
def test_fp32_precision() -> None:
    for value, allowed in (("ieee", False), ("tf32", True), ("ieee", False), ("none", False)):
        cuda.matmul.fp32_precision = value
        assert cuda.matmul.fp32_precision == value and products.allow_tf32 is allowed
    cuda.matmul.fp32_precision = "tf32"
    cudnn.conv.fp32_precision = "ieee"
    assert cudnn.conv.fp32_precision == "ieee" and not mudnn.allow_tf32
    cudnn.conv.fp32_precision = "tf32"
    cudnn.fp32_precision = "ieee"
    assert cudnn.fp32_precision == "ieee"
    cudnn.rnn.fp32_precision = "tf32"
    assert cudnn.rnn.fp32_precision == "tf32"


@NEW_PRECISION
def test_older_and_newer_settings_are_not_mixed() -> None:
    cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision = "none", "tf32"
    with pytest.raises(RuntimeError, match="mix of the legacy and new APIs"):
        _ = cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    cuda.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError, match="mix of the legacy and new APIs"):
        _ = cuda.matmul.allow_tf32


@pytest.mark.full
@NEW_PRECISION
def test_fp32_precision_of_everything(musa: Interpreter) -> None:
    musa.run(
        f"""
        import torch
        {PRODUCTS}
        torch.backends.fp32_precision = "ieee"
        assert not products.allow_tf32
        torch.backends.fp32_precision = "tf32"
        assert products.allow_tf32
        torch.backends.fp32_precision = "none"
        assert not products.allow_tf32
        """,
        forked=True,
    )


# --- cuDNN's flags ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["enabled", "benchmark", "deterministic"])
def test_cudnn_switch(name: str) -> None:
    before = getattr(cudnn, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        setattr(cudnn, name, not before)
    assert getattr(cudnn, name) is (not before)


def test_cudnn_benchmark_limit() -> None:
    cudnn.benchmark_limit = 5


def test_cudnn_flags() -> None:
    cuda.matmul.allow_tf32 = True
    with cudnn.flags(enabled=False, benchmark=True, deterministic=True, allow_tf32=False):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (False, True, True, False)
        assert switches() == backends_switches(True, False)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (True, False, False, True)
    assert switches() == (True, True)


def test_cudnn_flags_give_no_precision_away() -> None:
    """allow_tf32=True is only the default of flags()."""
    cuda.matmul.allow_tf32 = False
    with cudnn.flags(enabled=False):
        assert switches() == backends_switches(False, True)
    assert switches() == backends_switches(False, True)
    cuda.matmul.allow_tf32 = True
    mudnn.allow_tf32 = False
    with cudnn.flags(enabled=False):
        assert not mudnn.allow_tf32
    assert not mudnn.allow_tf32


def test_cudnn_set_flags() -> None:
    before = cudnn.set_flags(_benchmark=True, _benchmark_limit=3)
    assert cudnn.benchmark
    cudnn.set_flags(*before)
    assert not cudnn.benchmark


def test_cudnn_is_acceptable() -> None:
    assert cudnn.is_acceptable(torch.ones(2, device="cuda")) is False


def test_cudnn_rnn_says_what_is_missing() -> None:
    with pytest.raises(UnsupportedError, match=r"torch\.backends\.cudnn\.rnn\.get_cudnn_mode"):
        cudnn.rnn.get_cudnn_mode("LSTM")
    with pytest.raises(UnsupportedError, match=r"torch\.backends\.cudnn\.rnn\.init_dropout_state"):
        cudnn.rnn.init_dropout_state(0.5, True, 1, {})


@pytest.mark.full
def test_frozen_flags(musa: Interpreter) -> None:
    musa.run(
        f"""
        import pytest, torch
        {PRODUCTS}
        torch.backends.disable_global_flags()
        for name in ("allow_tf32", "benchmark"):
            with pytest.raises(RuntimeError, match="disable_global_flags"):
                setattr(torch.backends.cudnn, name, False)
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            assert not torch.backends.cudnn.allow_tf32
        assert torch.backends.cudnn.allow_tf32
        # What is no context property in torch can still be set, and torch.compile sets such flags back.
        torch.backends.cuda.matmul.allow_tf32 = False
        assert not torch.backends.cuda.matmul.allow_tf32 and not products.allow_tf32
        torch.set_float32_matmul_precision("high")
        assert torch.backends.cuda.matmul.allow_tf32 and products.allow_tf32
        x = torch.ones(2, device="cuda")
        assert torch.compile(lambda x: x + 1, backend="eager", fullgraph=True)(x).tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="disable_global_flags"):
            torch.backends.mudnn.allow_tf32 = False
        """,
        forked=True,
    )


def test_cusparselt_and_miopen() -> None:
    available, version = torch.backends.cusparselt.is_available(), torch.backends.cusparselt.version()
    assert (version is not None) is available  # only a CUDA build has it
    if hasattr(torch.backends, "miopen"):
        assert torch.backends.miopen.immediate is False


# --- the rest of torch.backends.cuda ----------------------------------------------------------------------------------

REDUCTIONS = [
    name
    for name in (
        "allow_fp16_reduced_precision_reduction",
        "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
    )
    if name in inspect.getsource(type(cuda.matmul))
]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduced_precision(name: str) -> None:
    before = getattr(cuda.matmul, name)
    setattr(cuda.matmul, name, not before)
    assert getattr(cuda.matmul, name) is (not before)
    setattr(cuda.matmul, name, before)


def test_cufft_plan_cache() -> None:
    cache = cuda.cufft_plan_cache
    cache.clear()
    assert cache.size == 0 and cache.max_size == 4096
    cache[1].max_size = 0
    assert cache[torch.device("cuda:1")].max_size == 0 and cache.max_size == 4096
    cache["cuda:1"].max_size = 4096
    cache["cuda:1"].clear()
    with pytest.raises(RuntimeError, match="read-only"):
        cache.size = 3
    with pytest.raises(RuntimeError, match="non-negative"):
        cache.max_size = -1
    with pytest.raises(RuntimeError, match="device index"):
        cache[torch.cuda.device_count()]
    with pytest.raises(RuntimeError, match="device_index"):
        torch._cufft_clear_plan_cache(torch.cuda.device_count())


@pytest.mark.parametrize("name", ["magma", "cusolver", "default"])
def test_preferred_linalg_library(name: str) -> None:
    chosen = cuda.preferred_linalg_library(name)
    assert chosen.name.lower() == name and cuda.preferred_linalg_library() == chosen
    a = torch.eye(3, device="cuda") * 2
    assert torch.linalg.inv(a).diagonal().tolist() == [0.5] * 3
    assert cuda.preferred_linalg_library("default").name == "Default"


def test_preferred_blas_library() -> None:
    default = cuda.preferred_blas_library()
    for name in ("cublas", "cublaslt", "hipblaslt"):
        assert cuda.preferred_blas_library(name).name.lower() == name.replace("hip", "cu")
    assert cuda.preferred_blas_library("default") == default
    with pytest.raises(RuntimeError, match="Choose from"):
        cuda.preferred_blas_library("mkl")


@pytest.mark.parametrize("name", ["cublas_workspace_size", "cublaslt_workspace_size", "blas_workspace_size"])
def test_workspaces(name: str) -> None:
    if not hasattr(cuda, name):
        pytest.skip(f"this torch has no torch.backends.cuda.{name}")
    with pytest.raises(UnsupportedError, match="workspace"):
        getattr(cuda, name)()


def test_attention_switches() -> None:
    for name in ("flash", "mem_efficient", "math", "cudnn"):
        enable, enabled = getattr(cuda, f"enable_{name}_sdp"), getattr(cuda, f"{name}_sdp_enabled")
        before = enabled()
        enable(not before)
        assert enabled() is (not before)
        enable(before)
    before = cuda.fp16_bf16_reduction_math_sdp_allowed()
    cuda.allow_fp16_bf16_reduction_math_sdp(not before)
    assert cuda.fp16_bf16_reduction_math_sdp_allowed() is (not before)
    cuda.allow_fp16_bf16_reduction_math_sdp(before)


def test_attention_questions() -> None:
    q = torch.ones(2, 4, 8, 16, device="cuda", dtype=torch.float16)
    parameters = cuda.SDPAParams(q, q, q, None, 0.0, False, False)
    for name in ("flash", "efficient", "cudnn"):
        assert getattr(cuda, f"can_use_{name}_attention")(parameters, debug=True) is False
    assert isinstance(cuda.is_flash_attention_available(), bool)  # whether this torch was built with CUDA's
    with pytest.warns(FutureWarning), cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled()
    assert cuda.flash_sdp_enabled()


def test_every_name_without_argument_answers() -> None:
    """Whatever functions this torch has there: an answer or our own error, never one of a missing CUDA part."""
    for name in cuda.__all__:
        function = getattr(cuda, name)
        if not inspect.isfunction(function) or name == "sdp_kernel":
            continue
        required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        if not required:
            with contextlib.suppress(UnsupportedError):
                function()


def test_switches_under_compile() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if cuda.matmul.allow_tf32 and cudnn.allow_tf32 else x - 1

    compiled = torch.compile(f, backend="eager")
    assert compiled(torch.ones(2, device="cuda")).tolist() == [0, 0]
    cuda.matmul.allow_tf32 = True
    assert torch.compile(f, backend="eager")(torch.ones(2, device="cuda")).tolist() == [2, 2]


@pytest.mark.full
def test_compile_in_a_fresh_process(musa: Interpreter) -> None:
    """dynamo saves and restores the switch of matrix products, and checks that torch's flags are what they were."""
    musa.run(
        f"""
        import torch
        {PRODUCTS}
        compiled = torch.compile(lambda x: x + 1, backend="eager")
        assert compiled(torch.ones(2, device="cuda")).tolist() == [2, 2]
        assert not products.allow_tf32 and not torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        assert torch.compile(lambda x: x + 2, backend="eager")(torch.ones(2, device="cuda")).tolist() == [3, 3]
        assert products.allow_tf32
        """,
        forked=True,
    )


def test_undo(musa: Interpreter) -> None:
    musa.run(
        """
        import torch, torchada
        b = torch.backends
        b.cuda.preferred_linalg_library("magma")
        torchada.disable()
        assert b.cuda.preferred_linalg_library().name == "Default"
        assert b.cuda.matmul.allow_tf32 is False and b.mudnn.allow_tf32 is True
        assert isinstance(vars(type(b.cudnn))["allow_tf32"], b.ContextProp)
        b.cudnn.allow_tf32 = False
        assert b.mudnn.allow_tf32 is True
        """,
        forked=True,
    )
