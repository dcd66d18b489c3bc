"""Dispatch keys of CUDA in questions, sets, guards and Python kernels."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from support.interpreter import Interpreter
from torchada.hooks.state import STATE
from torchada.redirect.dispatch_keys import DispatchKeys
from torchada.redirect.unsupported import UnsupportedError

C: Any = torch._C
Key: Any = torch._C.DispatchKey
KEYS = ["CUDA", "AutogradCUDA", "AutocastCUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA"]
X = torch.ones(2, device="cuda")


@pytest.fixture
def lib(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A library with the operator `op`, of a namespace that the test has for itself."""
    name = "keys_" + "".join(c if c.isalnum() else "_" for c in request.node.name)
    with torch.library._scoped_library(name, "FRAGMENT") as library:
        library.define("op(Tensor x) -> Tensor")
        yield library


def _name(lib: Any) -> str:
    return f"{lib.ns}::op"


def _op(lib: Any) -> Any:
    return getattr(torch.ops, lib.ns).op


def test_dispatch_key_queries(lib: Any) -> None:
    name = _name(lib)
    for key in ("CUDA", Key.CUDA):
        assert not C._dispatch_has_kernel_for_dispatch_key(name, key)
    lib.impl("op", lambda x: x + 1, "CUDA")
    for key in ("CUDA", Key.CUDA):
        assert C._dispatch_has_kernel_for_dispatch_key(name, key)
        assert not C._dispatch_kernel_for_dispatch_key_is_fallthrough(name, key)
    assert not C._dispatch_has_kernel_for_dispatch_key(name, "CPU")
    assert C._dispatch_has_computed_kernel_for_dispatch_key(name, "CUDA")
    assert C._dispatch_has_kernel_for_any_dispatch_key(name, C.DispatchKeySet(Key.CUDA))
    assert not C._dispatch_has_kernel_for_any_dispatch_key(name, C.DispatchKeySet(Key.CPU))
    assert name in C._dispatch_get_registrations_for_dispatch_key("CUDA")
    assert name in C._dispatch_get_registrations_for_dispatch_key(dispatch_key="CUDA")


@pytest.mark.parametrize("key", KEYS)
def test_every_key_of_cuda_is_answered_by_its_counterpart(lib: Any, key: str) -> None:
    lib.impl("op", lambda x: x + 1, key)
    own = key.replace("CUDA", "PrivateUse1")
    for each in (key, getattr(Key, key), own):
        assert C._dispatch_has_kernel_for_dispatch_key(_name(lib), each)
    assert C.DispatchKeySet(getattr(Key, key)).raw_repr() == C.DispatchKeySet(getattr(Key, own)).raw_repr()


def test_no_key_of_cuda_is_forgotten() -> None:
    assert sorted(KEYS) == sorted(name for name in Key.__members__ if "CUDA" in name)


def test_a_fallthrough_kernel_is_seen_as_one(lib: Any) -> None:
    lib.impl("op", torch.library.fallthrough_kernel, "AutocastCUDA")
    assert C._dispatch_kernel_for_dispatch_key_is_fallthrough(_name(lib), "AutocastCUDA")


def test_operator_overload_queries(lib: Any) -> None:
    lib.impl("op", lambda x: x + 1, "CUDA")
    overload = _op(lib).default
    assert overload.has_kernel_for_dispatch_key(Key.CUDA)
    assert not overload.has_kernel_for_dispatch_key(Key.AutogradCUDA)
    assert overload.has_kernel_for_any_dispatch_key(C.DispatchKeySet(Key.CUDA))


def test_keys_of_a_tensor() -> None:
    keys = C._dispatch_keys(X)
    assert keys.has(Key.CUDA) and keys.has("CUDA") and keys.has(Key.AutogradCUDA)
    assert not keys.has(Key.CPU) and not keys.has(Key.SparseCUDA)
    cpu = C._dispatch_keys(torch.ones(1))
    assert not cpu.has(Key.CUDA) and cpu.has(Key.CPU)
    assert not keys.remove(Key.CUDA).has("CUDA") and cpu.add(Key.CUDA).has(Key.CUDA)


def test_names_and_members_stay_what_they_are() -> None:
    assert C._parse_dispatch_key("CUDA") is not None and C._parse_dispatch_key("CUDA") == Key.CUDA
    assert Key.PrivateUse1 != Key.CUDA and Key.CUDA.name == "CUDA"
    assert C._parse_dispatch_key("nonsense") is None
    assert C._dispatch_key_for_device("cuda") == "CUDA"
    assert C._dispatch_key_for_device("cpu") == "CPU"
    assert C._dispatch_key_for_device(X.device.type) == "PrivateUse1"


def test_excluded_and_included_keys() -> None:
    a = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"):
        assert (a @ a).dtype is torch.float16
        with C._ExcludeDispatchKeyGuard(C.DispatchKeySet(Key.AutocastCUDA)):
            assert C._dispatch_tls_is_dispatch_key_excluded(Key.AutocastCUDA)
            assert (a @ a).dtype is torch.float32
        C._dispatch_tls_set_dispatch_key_excluded(Key.AutocastCUDA, True)
        try:
            assert (a @ a).dtype is torch.float32
        finally:
            C._dispatch_tls_set_dispatch_key_excluded(Key.AutocastCUDA, False)
        with C._SetExcludeDispatchKeyGuard(Key.AutocastCUDA, True):
            assert (a @ a).dtype is torch.float32
        assert (a @ a).dtype is torch.float16


def test_redispatch_below_a_key(lib: Any) -> None:
    below = C._dispatch_keyset_full_after(Key.AutogradCUDA)
    assert below.has(Key.CUDA) and not below.has(Key.AutogradCUDA)
    seen = []

    def autograd(keys: Any, x: torch.Tensor) -> Any:
        seen.append(keys.has(Key.AutogradCUDA))
        return _op(lib).default.redispatch(keys & below, x)

    lib.impl("op", lambda x: x + 1, "CUDA")
    lib.impl("op", autograd, "AutogradCUDA", with_keyset=True)
    assert torch.equal(_op(lib)(X), X + 1)
    assert seen == [True]


def test_python_kernels(lib: Any) -> None:
    lib.impl("op", lambda x: x, "CUDA")
    overload = _op(lib).default

    @overload.py_impl(Key.CUDA)
    def kernel(x: torch.Tensor) -> torch.Tensor:
        return x + 3

    assert overload.py_kernels[Key.CUDA] is kernel
    assert overload.has_kernel_for_dispatch_key(Key.CUDA)
    with torch._C._EnablePythonDispatcher():
        assert torch.equal(_op(lib)(X), X + 3)
    with pytest.raises(RuntimeError, match="override a python impl"):
        overload.py_impl(Key.CUDA)(kernel)


@pytest.mark.parametrize("order", [["CUDA", "PrivateUse1"], ["PrivateUse1", "CUDA"]])
def test_a_python_kernel_for_the_device_itself_is_used(lib: Any, order: list[str]) -> None:
    lib.impl("op", lambda x: x, "CUDA")
    overload = _op(lib).default
    added = {"CUDA": 3, "PrivateUse1": 5}
    for key in order:
        overload.py_impl(getattr(Key, key))(lambda x, key=key: x + added[key])
    with torch._C._EnablePythonDispatcher():
        assert torch.equal(_op(lib)(X), X + 5)


def test_operators_of_higher_order_under_autocast() -> None:
    """torch.cond and its like fall through AutocastCUDA, and have to fall through the key that stands in for it."""

    def choose(flag: torch.Tensor, x: torch.Tensor) -> Any:
        return torch.cond(flag, lambda x: x @ x, lambda x: x @ x * 2, (x,))

    a = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"):
        found = torch.compile(choose, backend="aot_eager", fullgraph=True)(torch.tensor(False), a)
    assert found.dtype is torch.float16
    assert torch.equal(found.float(), a @ a * 2)


def test_an_operator_of_higher_order_made_by_a_program() -> None:
    class Twice(torch._ops.HigherOrderOperator):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__("torchada_test_twice")

        def __call__(self, x: torch.Tensor) -> Any:
            return super().__call__(x)

    twice = Twice()
    twice.fallthrough(Key.AutogradCUDA)

    @twice.py_impl(Key.CUDA)
    def kernel(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert torch.equal(twice(X), X * 2)
    with torch.autocast("cuda"):
        assert torch.equal(twice(X), X * 2)
    with pytest.raises(NotImplementedError):
        twice(torch.ones(1))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, where this backend imports what it needs
def test_checkpoint_with_dropout_under_compile() -> None:
    """Operators that save the generator's state are chosen by device type."""

    def block(x: torch.Tensor) -> Any:
        return checkpoint(lambda x: torch.dropout(torch.sin(x), 0.5, True) * 2, x, use_reentrant=False)

    x = torch.rand(1000, device="cuda") + 0.1
    x.requires_grad_()
    y = torch.compile(block, backend="aot_eager_decomp_partition", fullgraph=True)(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(y != 0, x.grad != 0)


def test_a_key_without_counterpart_is_named() -> None:
    """As on a backend that has less than CUDA."""
    context: Any = copy.copy(STATE.context)
    names = replace(context.backend.names, dispatch_keys={"CUDA": "PrivateUse1", "SparseCUDA": "NoSuchKey"})
    context.backend = replace(context.backend, names=names)
    keys = DispatchKeys(context)
    assert keys.registered("CUDA") == "PrivateUse1" and keys.registered(Key.CUDA) == Key.PrivateUse1
    for key in ("SparseCUDA", Key.SparseCUDA, "AutogradCUDA"):
        assert keys.translate(key) is key
        with pytest.raises(UnsupportedError, match=r"dispatch key (Sparse|Autograd)CUDA"):
            keys.registered(key)
    assert keys.registered("CPU") == "CPU" and keys.registered([]) == []


def test_undone(musa: Interpreter) -> None:
    musa.run(
        """
        import torch, torchada
        C, Key = torch._C, torch._C.DispatchKey
        lib = torch.library.Library("undone", "FRAGMENT")
        for name in ("before", "after"):
            lib.define(f"{name}(Tensor x) -> Tensor")
        lib.impl("before", lambda x: x + 1, "CUDA")
        x = torch.ones(1, device="cuda")
        cond = torch._ops._higher_order_ops["cond"]
        assert not cond.non_fallthrough_keys.has("AutocastCUDA")
        torchada.disable()
        assert not C._dispatch_keys(x).has(Key.CUDA)
        assert C.DispatchKeySet(Key.CUDA) != C.DispatchKeySet(Key.PrivateUse1)
        assert cond.non_fallthrough_keys.has("AutocastPrivateUse1")
        lib.impl("after", lambda x: x + 1, "CUDA")
        assert C._dispatch_has_kernel_for_dispatch_key("undone::after", "CUDA")
        assert not C._dispatch_has_kernel_for_dispatch_key("undone::after", "PrivateUse1")
        assert not C._dispatch_has_kernel_for_dispatch_key("undone::before", "CUDA")
        assert torch.equal(torch.ops.undone.before(x), x + 1)  # a program's registrations stay
        torchada.enable()
        assert C._dispatch_keys(x).has(Key.CUDA)
        """,
        forked=True,
    )
