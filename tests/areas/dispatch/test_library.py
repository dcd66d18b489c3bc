"""torch.library: kernels that a CUDA program registers run on the device."""

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.library import Library

from support.interpreter import TORCH, Interpreter
from torchada.redirect.unsupported import UnsupportedError

library: Any = torch.library
C: Any = torch._C
X = torch.ones(2, device="cuda")
OLDER = TORCH < (2, 12)  # seen in 2.7.1, 2.9.1 and 2.11.0, and no more in 2.13.0


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A namespace that the test has for itself."""
    return "library_" + "".join(c if c.isalnum() else "_" for c in request.node.name)


@pytest.fixture
def lib(name: str) -> Iterator[Any]:
    """A library with the operator `op`."""
    with library._scoped_library(name, "FRAGMENT") as found:
        found.define("op(Tensor x) -> Tensor")
        yield found


def _op(lib: Any) -> Any:
    return getattr(torch.ops, lib if isinstance(lib, str) else lib.ns).op


def _plus(number: int) -> Any:
    return lambda x: x + number


def _compiled(function: Any) -> Any:
    return torch.compile(function, backend="aot_eager", fullgraph=True)


def test_library_impl_dispatch_key_cuda(lib: Any) -> None:
    lib.impl("op", _plus(1), "CUDA")
    assert torch.equal(_op(lib)(X), X + 1)


def test_library_impl_by_keyword_and_overload(lib: Any) -> None:
    lib.define("op.other(Tensor x, int n) -> Tensor")
    lib.impl(_op(lib).default, fn=_plus(1), dispatch_key="CUDA")
    lib.impl(_op(lib).other, lambda x, n: x + n, "CUDA")
    assert torch.equal(_op(lib)(X), X + 1)
    assert torch.equal(_op(lib).other(X, 7), X + 7)


def test_library_impl_with_keyset(lib: Any) -> None:
    seen = []

    def kernel(keys: Any, x: torch.Tensor) -> torch.Tensor:
        seen.append(keys.has("CUDA"))
        return x + 1

    lib.impl("op", kernel, "CUDA", with_keyset=True)
    assert torch.equal(_op(lib)(X), X + 1)
    assert seen == [True]


def test_library_constructor_key_cuda(lib: Any) -> None:
    with library._scoped_library(lib.ns, "IMPL", "CUDA") as own:
        own.impl("op", _plus(1))
        assert torch.equal(_op(lib)(X), X + 1)
        assert own.dispatch_key == "CUDA" and "dispatch_key=CUDA" in repr(own)
        with pytest.raises(RuntimeError, match=r"[Dd]ispatch"):
            own.impl("op", _plus(2), "CPU")


def test_override_of_an_operator_of_torch() -> None:
    with library._scoped_library("aten", "IMPL", "CUDA") as own, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch says that a kernel is overridden
        own.impl("erfinv", lambda x: x + 41)
        assert torch.equal(torch.erfinv(X), X + 41)
        assert torch.isinf(torch.erfinv(X.cpu())).all()
    assert torch.isinf(torch.erfinv(X)).all()


def test_library_subclass(lib: Any) -> None:
    class Mine(Library):
        def impl(self, *args: Any, **kwargs: Any) -> None:
            super().impl(*args, **kwargs)
            self.seen = args

    own: Any = Mine(lib.ns, "IMPL", "CUDA")
    own.impl("op", _plus(1))
    assert own.seen[0] == "op" and torch.equal(_op(lib)(X), X + 1)
    assert type(own) is Mine and isinstance(own, Library)
    own._destroy()


def test_a_scoped_library_takes_its_kernels_along(lib: Any) -> None:
    with library._scoped_library(lib.ns, "IMPL") as own:
        own.impl("op", _plus(1), "CUDA")
        assert C._dispatch_has_kernel_for_dispatch_key(f"{lib.ns}::op", "CUDA")
    assert not C._dispatch_has_kernel_for_dispatch_key(f"{lib.ns}::op", "CUDA")


@pytest.mark.parametrize("order", [["CUDA", "PrivateUse1"], ["PrivateUse1", "CUDA"]])
def test_a_kernel_for_the_device_itself_is_used(lib: Any, order: list[str]) -> None:
    """Whichever came first, and without a warning, which would be an error here."""
    for key in order:
        lib.impl("op", _plus({"CUDA": 1, "PrivateUse1": 5}[key]), key)
    assert torch.equal(_op(lib)(X), X + 5)


def test_one_function_for_several_keys(lib: Any) -> None:
    """As torch.distributed.fsdp registers its own."""

    @library.impl(lib, "op", "CUDA")
    @library.impl(lib, "op", "CPU")
    @library.impl(lib, "op", "PrivateUse1")
    def kernel(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert torch.equal(_op(lib)(X), X + 1) and torch.equal(_op(lib)(X.cpu()), X.cpu() + 1)


# torch_musa has a fallback for dense tensors, and torchada gives nested and sparse ones theirs.
@pytest.mark.parametrize("kind", ["", "NestedTensor", "Sparse", "SparseCsr"])
def test_fallback_for_a_key_that_has_one(kind: str) -> None:
    refusal = pytest.raises(UnsupportedError, match=rf"Library\.fallback.*{kind}CUDA.*{kind}PrivateUse1")
    with library._scoped_library("_", "IMPL") as own, refusal:
        own.fallback(lambda op, *args: None, f"{kind}CUDA")


@pytest.mark.skipif(OLDER, reason="older torch leaves the key's backend included, without torchada too")
def test_a_key_is_included_for_a_while() -> None:
    key = C.DispatchKey.NestedTensorCUDA
    with C._IncludeDispatchKeyGuard(key):
        assert C._dispatch_tls_is_dispatch_key_included(key)
    assert not C._dispatch_tls_is_dispatch_key_included(key)


@pytest.mark.parametrize("types", ["cuda", "CUDA", ("cpu", "cuda"), ["cuda"]])
@pytest.mark.parametrize("direct", [True, False])
def test_impl_by_name(lib: Any, types: Any, direct: bool) -> None:
    qualname = f"{lib.ns}::op"
    if direct:
        library.impl(qualname, types, _plus(1), lib=lib)
    else:
        library.impl(qualname, types, lib=lib)(_plus(1))
    assert torch.equal(_op(lib)(X), X + 1)
    if "cpu" in types:
        assert torch.equal(_op(lib)(X.cpu()), X.cpu() + 1)
    else:
        assert not C._dispatch_has_kernel_for_dispatch_key(qualname, "CPU")


def test_impl_default_and_an_unknown_type(lib: Any) -> None:
    library.impl(f"{lib.ns}::op", "default", _plus(1), lib=lib)
    assert torch.equal(_op(lib)(X), X + 1)
    library.impl(f"{lib.ns}::op", "cuda", _plus(2), lib=lib)
    assert torch.equal(_op(lib)(X), X + 2) and torch.equal(_op(lib)(X.cpu()), X.cpu() + 1)
    with pytest.raises(RuntimeError, match="nonsense"):
        library.impl(f"{lib.ns}::op", "nonsense", _plus(1), lib=lib)


def test_define_decorator_and_legacy_impl(name: str) -> None:
    with library._scoped_library(name, "FRAGMENT") as own:
        own.define("op(Tensor x) -> Tensor")

        @library.impl(own, "op", "CUDA")
        def kernel(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        assert torch.equal(_op(name)(X), kernel(X))


def _custom(name: str, **options: Any) -> Any:
    """The operator `op`, x + 1."""

    def op(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    definition = library.custom_op(f"{name}::op", op, mutates_args=(), **options)
    definition.register_fake(torch.empty_like)
    return definition


@pytest.mark.parametrize("types", ["cuda", ["cpu", "cuda"], ("cuda",), None])
def test_custom_op_device_types_cuda(name: str, types: Any) -> None:
    op = _custom(name, device_types=types)
    assert torch.equal(op(X), X + 1)
    assert torch.equal(_compiled(lambda x: op(x) * 2)(X), (X + 1) * 2)


def test_register_kernel_cuda(name: str) -> None:
    op = _custom(name, device_types="cpu")

    @op.register_kernel("cuda")
    def kernel(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        return x + 2

    assert torch.equal(op(X), X + 2) and torch.equal(op(X.cpu()), X.cpu() + 1)
    library.register_kernel(f"{name}::op", "cuda", _plus(3))  # a second one takes its place
    assert torch.equal(op(X), X + 3)
    library.register_kernel(_op(name).default, ["cuda"])(_plus(4))
    assert torch.equal(op(X), X + 4)
    op.register_kernel(device for device in ("cpu", "cuda"))(_plus(5))
    assert torch.equal(op(X), X + 5) and torch.equal(op(X.cpu()), X.cpu() + 5)


def test_register_kernel_of_a_library_operator(lib: Any) -> None:
    library.register_kernel(f"{lib.ns}::op", "cuda", _plus(1), lib=lib)
    assert torch.equal(_op(lib)(X), X + 1)


@pytest.mark.parametrize("own_first", [True, False])
def test_a_kernel_for_the_devices_own_type_is_used(name: str, own_first: bool) -> None:
    op = _custom(name, device_types="cpu")
    kernels = [(X.device.type, _plus(5)), ("cuda", _plus(2))]
    for device_type, kernel in kernels if own_first else kernels[::-1]:
        op.register_kernel(device_type, kernel)
    assert torch.equal(op(X), X + 5)


@pytest.mark.parametrize("words", [("cuda", "cuda"), ("cuda", "device"), ("device", "cuda"), ("device", "device")])
def test_set_kernel_enabled(name: str, words: tuple[str, str]) -> None:
    """Under whichever of its names the device is given: programs say "cuda", or x.device.type."""
    registered, asked = (X.device.type if word == "device" else word for word in words)
    op = _custom(name, device_types="cpu")
    op.register_kernel(registered, _plus(2))
    with op.set_kernel_enabled(asked, enabled=False):
        assert torch.equal(op(X), X + 1)
        with op.set_kernel_enabled(device_type=asked, enabled=True):
            assert torch.equal(op(X), X + 2)
    assert torch.equal(op(X), X + 2)


def test_custom_op_that_makes_a_tensor(name: str) -> None:
    @library.custom_op(f"{name}::op", mutates_args=(), device_types="cuda")
    def make(n: int, device: torch.device) -> torch.Tensor:
        return torch.ones(n, device=device)

    make.register_fake(lambda n, device: torch.empty(n, device=device))
    for device in ("cuda", "cuda:1", torch.device("cuda")):
        assert make(2, device).is_cuda
        assert _op(name)(2, device).is_cuda
    assert _op(name)(2, "cuda:1").device.index == 1
    assert _compiled(lambda: make(2, torch.device("cuda")) + 1)().is_cuda
    with pytest.raises(RuntimeError, match="cpu"):
        make(2, "cpu")


@pytest.mark.parametrize("kind", ["custom_op", "method", "library"])
def test_register_autocast_cuda(name: str, kind: str) -> None:
    seen = []

    def kernel(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.dtype)
        return x + 1

    with library._scoped_library(name, "FRAGMENT") as own:
        if kind == "library":
            own.define("op(Tensor x) -> Tensor")
            own.impl("op", kernel, "CUDA")
            library.register_autocast(f"{name}::op", "cuda", torch.float16, lib=own)
        else:
            op = _custom(name)
            op.register_kernel("cuda", kernel)
            register = op.register_autocast if kind == "method" else lambda *a: library.register_autocast(op, *a)
            register("cuda", torch.float16)
        call = _op(name)
        assert call(X).dtype is torch.float32
        with torch.autocast("cuda"):
            assert call(X).dtype is torch.float16
            assert call(X.double()).dtype is torch.float64
        with torch.autocast("cuda", enabled=False):
            assert call(X).dtype is torch.float32
        assert seen == [torch.float32, torch.float16, torch.float64, torch.float32]


def test_register_autocast_under_compile(name: str) -> None:
    op = _custom(name)
    library.register_autocast(f"{name}::op", "cuda", torch.float16)

    def call(x: torch.Tensor) -> Any:
        with torch.autocast("cuda"):
            return op(x)

    assert _compiled(call)(X).dtype is torch.float16


def test_register_autocast_refuses_an_unknown_type(name: str) -> None:
    _custom(name)
    with pytest.raises((RuntimeError, ValueError), match="nonsense"):
        library.register_autocast(f"{name}::op", "nonsense", torch.float16)


def test_register_autograd(name: str) -> None:
    op = _custom(name, device_types="cuda")
    double = library.custom_op(f"{name}::double", lambda: None, mutates_args=(), schema="(Tensor x) -> Tensor")
    double.register_kernel("cuda", lambda x: x * 2)
    double.register_fake(torch.empty_like)
    op.register_autograd(lambda ctx, grad: double(grad))
    for function in (op, _compiled(lambda x: op(x))):
        x = X.clone().requires_grad_()
        function(x).sum().backward()
        assert torch.equal(x.grad, torch.full_like(X, 2))  # type: ignore[arg-type]


def test_autograd_kernel_for_the_key_autograd_cuda(lib: Any) -> None:
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> Any:
            with C._AutoDispatchBelowAutograd():
                return _op(lib)(x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
            return grad * 3

    lib.impl("op", _plus(1), "CUDA")
    lib.impl("op", Function.apply, "AutogradCUDA")
    x = X.clone().requires_grad_()
    _op(lib)(x).sum().backward()
    assert torch.equal(x.grad, torch.full_like(X, 3))  # type: ignore[arg-type]


def test_register_vmap(name: str) -> None:
    op = _custom(name, device_types="cuda")
    op.register_vmap(lambda info, in_dims, x: (op(x) + 10, in_dims[0]))
    assert torch.equal(torch.vmap(op)(X), X + 11)


def test_register_torch_dispatch(name: str) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        pass

    op = _custom(name, device_types="cuda")
    answer = X + 20
    op.register_torch_dispatch(Mode, lambda mode, func, types, args, kwargs: answer)
    with Mode():
        assert op(X) is answer
    assert torch.equal(op(X), X + 1)


def test_register_fake_and_get_ctx(name: str) -> None:
    @library.custom_op(f"{name}::op", mutates_args=(), device_types="cuda")
    def nonzero(x: torch.Tensor) -> torch.Tensor:
        return x.nonzero()

    @library.register_fake(f"{name}::op")
    def _(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        return x.new_empty((library.get_ctx().new_dynamic_size(), x.dim()), dtype=torch.int64)

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        found = _compiled(lambda x: nonzero(x) + 1)(torch.tensor([0.0, 1.0, 2.0], device="cuda"))
    assert found.tolist() == [[2], [3]] and found.is_cuda


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch 2.15's own, on the CPU as well
@pytest.mark.parametrize("requires_grad", [True, False])
def test_opcheck(name: str, requires_grad: bool) -> None:
    op = _custom(name, device_types="cuda")
    op.register_autograd(lambda ctx, grad: grad)
    results = library.opcheck(op, (torch.rand(3, device="cuda", requires_grad=requires_grad),))
    assert set(results.values()) == {"SUCCESS"} and len(results) == 4


def test_opcheck_finds_autograd_at_the_wrong_key(lib: Any) -> None:
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> Any:
            return x + 1

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
            return grad

    lib.impl("op", Function.apply, "CUDA")
    x = torch.rand(3, device="cuda", requires_grad=True)
    with pytest.raises(Exception, match="autograd kernel"):
        library.opcheck(_op(lib).default, (x,), test_utils="test_autograd_registration")
    lib.impl("op", Function.apply, "AutogradCUDA")
    library.opcheck(_op(lib).default, (x,), test_utils="test_autograd_registration")


def test_device_in_infer_schema_annotations(name: str) -> None:
    second = torch.device("cuda:1")

    def make(x: torch.Tensor, device: torch.device = second, n: int = 2) -> torch.Tensor:
        return torch.ones(n, device=device) + x.sum().to(device)

    def by_name(x: torch.Tensor, device: torch.device = "cuda", n: int = 2) -> torch.Tensor:  # type: ignore[assignment]
        return torch.ones(n, device=device) + x.sum()

    assert "Device device=" in library.infer_schema(make, mutates_args=())
    for function, index in ((make, 1), (by_name, 0)):
        with library._scoped_library(name, "FRAGMENT") as own:
            own.define("op" + library.infer_schema(function, mutates_args=()))
            own.impl("op", function, "CUDA")
            assert _op(name)(X).device == torch.device("cuda", index)
            assert _op(name)(X, n=3).device == torch.device("cuda", index)
            assert _op(name)(X, torch.device("cuda:0")).device == torch.device("cuda", 0)
            assert _op(name)(X, "cuda").shape == (2,)


@pytest.mark.skipif(not hasattr(library, "triton_op"), reason="this torch has no triton_op")
def test_triton_op(name: str) -> None:
    """Triton itself is not here: what the operator does with a kernel is not shown."""

    @library.triton_op(f"{name}::op", mutates_args={})
    def op(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert torch.equal(op(X), X + 1)
    assert torch.equal(_compiled(lambda x: op(x) * 2)(X), (X + 1) * 2)
    op.register_kernel("cuda", _plus(3))
    assert torch.equal(op(X), X + 3)


@pytest.mark.skipif(not hasattr(library, "get_kernel"), reason="this torch has no get_kernel")
def test_get_kernel(lib: Any) -> None:
    lib.impl("op", _plus(1), "CUDA")
    for key in ("CUDA", C.DispatchKey.CUDA):
        kernel = library.get_kernel(f"{lib.ns}::op", key)
        assert torch.equal(kernel.call_boxed(C.DispatchKeySet("CUDA"), X), X + 1)


def test_the_deprecated_custom_op(name: str) -> None:
    from torch._custom_ops import custom_op, impl, impl_abstract

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)

        @custom_op(f"{name}::op")
        def op(x: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError

        impl(f"{name}::op", device_types="cuda")(_plus(1))
        impl_abstract(f"{name}::op")(torch.empty_like)
        assert torch.equal(_op(name)(X), X + 1)
        with pytest.raises(RuntimeError, match="already has a cuda impl"):
            impl(f"{name}::op", device_types="cuda")(_plus(2))
        from torch._custom_op.impl import _find_custom_op

        _find_custom_op(f"{name}::op")._destroy()


def test_the_deprecated_custom_op_sees_a_kernel_of_torch_library(lib: Any) -> None:
    from torch._custom_ops import impl

    lib.impl("op", _plus(1), "CUDA")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with pytest.raises(RuntimeError, match="already has an implementation for this device type"):
            impl(f"{lib.ns}::op", device_types="cuda")(_plus(2))


def test_a_package_written_for_cuda() -> None:
    from support import vllm_style_ops as package

    x, residual = torch.rand(4, 8, device="cuda"), torch.rand(4, 8, device="cuda")
    layer = package.RMSNorm(8)
    total = x + residual
    expected = total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6)
    for module in (layer, _compiled(layer)):
        given = x.clone()
        with torch.no_grad():
            assert torch.allclose(module(given, residual), expected)
        assert torch.equal(given, total)
    with pytest.raises((AssertionError, NotImplementedError)):
        torch.ops.vllm_style.rms_norm(x.cpu(), layer.weight.cpu())


def test_places_and_signatures() -> None:
    import inspect

    assert pickle.loads(pickle.dumps(library.register_autocast)) is library.register_autocast
    assert "with_keyset" in inspect.signature(Library.impl).parameters
    assert Library.impl.__qualname__ == "Library.impl" and Library.impl.__module__ == "torch.library"
    with pytest.raises(TypeError):
        Library("library_places", "FRAGMENT").impl("op")  # type: ignore[call-arg]


def test_a_kernel_that_a_program_registered_stays(musa: Interpreter) -> None:
    musa.run(
        f"""
        older = {OLDER}
        import torch, torchada
        @torch.library.custom_op("stays::op", mutates_args=(), device_types="cuda")
        def op(x: torch.Tensor) -> torch.Tensor:
            return x + 1
        torch.library.register_autocast("stays::op", "cuda", torch.float16)
        x = torch.ones(1, device="cuda")
        impl = torch.library.Library.impl
        torchada.disable()
        assert torch.library.Library.impl is not impl
        assert torch.equal(op(x), x + 1)
        if not older:  # older torch knows no autocast of operators but the CPU's and CUDA's, and calls itself for ever
            with torch.autocast("musa"):
                assert op(x).dtype is torch.float16
        torchada.enable()
        with torch.autocast("cuda"):
            assert op(x).dtype is torch.float16
        """,
        forked=True,
    )


@pytest.mark.full
def test_fsdp_registers_its_operators_without_a_word(musa: Interpreter) -> None:
    musa.run(
        "import torch, torch.distributed.fsdp\nassert torch.ops.fsdp.all_gather_copy_in",
        env={"PYTHONWARNINGS": "error"},
    )
