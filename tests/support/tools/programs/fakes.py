"""FakeTensorMode, torch.func, and what overrides torch: subclasses and modes."""

from __future__ import annotations

import copy
import io
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode


def fake_factories() -> Any:
    """fake tensors made on "cuda": device and type"""
    with FakeTensorMode():
        made = (
            torch.empty(2, device="cuda"),
            torch.ones(2, device=torch.device("cuda:1")),
            torch.arange(2, device="cuda"),
        )
    return [[str(x.device), x.device.type, type(x).__name__] for x in made]


def fake_is_cuda() -> Any:
    """`is_cuda` of a fake tensor"""
    with FakeTensorMode():
        return [torch.empty(2, device="cuda").is_cuda, torch.empty(2).is_cuda, torch.empty(2, device="meta").is_cuda]


def fake_moves() -> Any:
    """`.cuda()`, `.to("cuda")` and `.cpu()` of a fake tensor"""
    with FakeTensorMode():
        x = torch.ones(2)
        moved = x.cuda(), x.cuda(1), x.to("cuda"), x.to(torch.device("cuda:1")), x.cuda().cpu(), x.to(device="cuda")
    return [str(each.device) for each in moved]


def fake_of_real() -> Any:
    """`FakeTensorMode().from_tensor` of a real tensor of the device, and its `is_cuda`"""
    mode = FakeTensorMode()
    fake = mode.from_tensor(torch.ones(2, device="cuda:1"))
    with mode:
        return [str(fake.device), fake.is_cuda, str((fake + torch.ones(2, device="cuda:1")).device)]


def fake_and_real() -> Any:
    """real tensors of the device taken in by `allow_non_fake_inputs`"""
    real = torch.ones(2, device="cuda")
    with FakeTensorMode(allow_non_fake_inputs=True):
        return str((real * torch.ones(2, device="cuda")).device)


def fake_mixed() -> Any:
    """an operation on fake tensors of two devices is refused"""
    with FakeTensorMode():
        try:
            torch.ones(2, device="cuda") + torch.ones(2)
        except Exception as error:
            return [type(error).__name__, "two different devices" in str(error)]
    return "no error"


def fake_modules() -> Any:
    """modules built with `device="cuda"` and run under `FakeTensorMode`"""
    with FakeTensorMode():
        model = torch.nn.Sequential(torch.nn.Linear(4, 2, device="cuda"), torch.nn.LayerNorm(2, device="cuda"))
        y = model(torch.ones(3, 4, device="cuda"))
        return [str(y.device), y.shape]


def fake_default_device() -> Any:
    """`with torch.device("cuda")` under `FakeTensorMode`"""
    with FakeTensorMode(), torch.device("cuda"):
        return [str(torch.ones(2).device), str(torch.nn.Linear(2, 2).weight.device)]


def fake_autocast() -> Any:
    """`torch.autocast("cuda")` under `FakeTensorMode`"""
    with FakeTensorMode(), torch.autocast("cuda", dtype=torch.bfloat16):
        x = torch.ones(2, 2, device="cuda")
        return str((x @ x).dtype)


def fake_load() -> Any:
    """`torch.load` under `FakeTensorMode`"""
    buffer = io.BytesIO()
    torch.save(torch.nn.Linear(2, 2).cuda().state_dict(), buffer)
    buffer.seek(0)
    with FakeTensorMode():
        return [str(x.device) for x in torch.load(buffer, map_location="cuda").values()]


def fake_shape_environment() -> Any:
    """fake tensors of dynamic shape on the device"""
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv())
    fake = mode.from_tensor(torch.ones(3, 2, device="cuda"))
    with mode:
        return str(torch.zeros(fake.shape[0], device="cuda").device)


def fake_deepcopy() -> Any:
    """deepcopy of a module of fake tensors; `fake_device` of one"""
    with FakeTensorMode():
        model = torch.nn.Linear(2, 2, device="cuda")
        return [str(copy.deepcopy(model).weight.device), str(model.weight.fake_device)]


def vmap() -> Any:
    """`torch.vmap` over factories, `.cuda()` and `is_cuda`"""

    def function(row: Tensor) -> Tensor:
        row = row.cuda() + torch.ones(3, device="cuda") + row.new_zeros(3, device="cuda")
        return row * 2 if row.is_cuda else row

    return [torch.vmap(function)(torch.ones(2, 3)).tolist(), str(torch.vmap(function)(torch.ones(2, 3)).device)]


def vmap_random() -> Any:
    """`torch.vmap(randomness="different")` with random numbers on the device"""
    x = torch.zeros(4, 100, device="cuda")
    made = torch.vmap(lambda row: row + torch.rand(100, device="cuda"), randomness="different")(x)
    same = torch.vmap(lambda row: row + torch.rand(100, device="cuda"), randomness="same")(x)
    return [torch.equal(made[0], made[1]), torch.equal(same[0], same[1]), str(made.device)]


def gradients() -> Any:
    """`torch.func.grad`, `vjp`, `jvp` through moves between devices"""

    def function(x: Tensor) -> Tensor:
        return (x.cuda() * torch.arange(3.0, device="cuda")).cpu().sum()

    x = torch.ones(3)
    _, pull = torch.func.vjp(function, x)
    return [
        torch.func.grad(function)(x).tolist(),
        pull(torch.tensor(2.0))[0].tolist(),
        torch.func.jvp(function, (x,), (x,))[1].tolist(),
    ]


def jacobians() -> Any:
    """`jacrev`, `jacfwd` and `hessian` on the device"""
    x = torch.arange(2.0, device="cuda")

    def cube(x: Tensor) -> Tensor:
        return x**3 * torch.ones(2, device="cuda")

    found = [torch.func.jacrev(cube)(x), torch.func.jacfwd(cube)(x), torch.func.hessian(lambda x: cube(x).sum())(x)]
    return [[str(each.device), each.tolist()] for each in found]


def functional_call() -> Any:
    """`torch.func.functional_call` and `stack_module_state` of modules on the device"""
    models = [
        torch.nn.init.ones_(m.weight) is not None and m for m in (torch.nn.Linear(2, 1, device="cuda") for _ in "ab")
    ]
    x = torch.ones(1, 2, device="cuda")
    zeros = {name: torch.zeros_like(p) for name, p in models[0].named_parameters()}
    parameters, buffers = torch.func.stack_module_state(models)
    ensemble = torch.vmap(lambda p, b: torch.func.functional_call(models[0], (p, b), (x,)).shape and p["weight"].sum())
    return [torch.func.functional_call(models[0], zeros, (x,)).tolist(), ensemble(parameters, buffers).tolist()]


def forward_mode() -> Any:
    """forward-mode derivatives: `torch.autograd.forward_ad`"""
    from torch.autograd import forward_ad

    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2, device="cuda"), torch.full((2,), 3.0, device="cuda"))
        return forward_ad.unpack_dual(x.to("cuda:0") * 2).tangent.tolist()


class _Logged(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((function, kwargs or {}))
        return function(*args, **(kwargs or {}))


def function_modes() -> Any:
    """a `TorchFunctionMode` is handed torch's public functions"""
    with _Logged() as mode:
        torch.zeros(1, device="cuda")
        x = torch.ones(1).to("cuda")
        x.cuda()
        torch.tensor([1.0], device=torch.device("cuda"))
    public = [torch.zeros, torch.ones, torch.Tensor.to, torch.Tensor.cuda, torch.tensor]
    assert all(any(function is each for function, _ in mode.calls) for each in public), mode.calls
    return True


def function_modes_redirect() -> Any:
    """a mode that puts another device into the calls it sees"""

    class OnSecond(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = dict(kwargs or {})
            if function in (torch.zeros, torch.ones):
                kwargs["device"] = "cuda:1"
            return function(*args, **kwargs)

    with OnSecond():
        return [str(torch.zeros(1).device), str(torch.ones(1, device="cuda:0").device), str(torch.empty(1).device)]


def function_modes_see_is_cuda() -> Any:
    """a mode is shown `x.is_cuda` and `x.device`"""
    x = torch.ones(1, device="cuda")
    with _Logged() as mode:
        assert x.is_cuda
        assert x.device.index == 0
    return [resolve_name(function).replace("cuda", "x") for function, _ in mode.calls]


class _Tagged(Tensor):
    seen: list[str] = []

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})


def function_subclasses() -> Any:
    """a subclass with `__torch_function__` keeps its class over `.cuda()`, `.to` and factories"""
    x = torch.ones(2).as_subclass(_Tagged)
    moved = x.cuda(), x.to("cuda:1"), x.cuda().new_zeros(2, device="cuda"), torch.zeros_like(x, device="cuda")
    assert all(type(each) is _Tagged for each in moved)
    return [str(each.device) for each in moved]


def function_subclasses_see_names() -> Any:
    """what such a subclass is told of the calls"""
    _Tagged.seen = []
    x = torch.ones(2).as_subclass(_Tagged)
    x.cuda()
    x.to("cuda")
    torch.ones_like(x, device="cuda")
    assert not x.is_cuda
    assert [name.lstrip("_") for name in _Tagged.seen][:3] == ["cuda", "to", "ones_like"]
    return len(_Tagged.seen)


class _Wrapper(Tensor):
    """Holds another tensor, and shows its device."""

    @staticmethod
    def __new__(cls, inner: Tensor, device: Any = None) -> Any:
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=device or inner.device)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = torch.utils._pytree.tree_map_only(cls, lambda x: x.inner, (args, kwargs or {}))
        return torch.utils._pytree.tree_map_only(Tensor, cls, operator(*args, **kwargs))


def wrapper_subclasses() -> Any:
    """a wrapper subclass (`_make_wrapper_subclass(device="cuda")`): device, `is_cuda`, `.cuda()`"""
    named = _Wrapper(torch.ones(2, device="cuda"), device="cuda")
    moved = _Wrapper(torch.ones(2)).cuda()
    return [str(named.device), named.is_cuda, type(moved).__name__, str(moved.inner.device), (moved + 1).inner.tolist()]


def plain_subclasses() -> Any:
    """`Tensor._make_subclass` and `nn.Parameter` of tensors of the device"""
    x = Tensor._make_subclass(_Tagged, torch.ones(2, device="cuda"))
    return [type(x).__name__, x.is_cuda, torch.nn.Parameter(torch.ones(2, device="cuda")).is_cuda]


class _Dispatched(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append([str(operator), str((kwargs or {}).get("device"))])
        return operator(*args, **(kwargs or {}))


def dispatch_modes() -> Any:
    """a `TorchDispatchMode` sees the operators and devices"""
    with _Dispatched() as mode:
        x = torch.zeros(2, device="cuda")
        x.cpu().cuda()
        x.to("cuda:1")
        torch.arange(2, device=torch.device("cuda"))
    return mode.calls


def counted_operators() -> Any:
    """`FlopCounterMode` and other modes of torch over work on the device"""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        torch.ones(2, 3, device="cuda") @ torch.ones(3, 4, device="cuda")
    return counter.get_total_flops()


def overridable_functions() -> Any:
    """`torch.overrides` knows the functions by their names"""
    from torch.overrides import get_ignored_functions, get_testing_overrides, is_tensor_method_or_property

    return [
        torch.Tensor.cuda in get_testing_overrides(),
        torch.Tensor.to in get_testing_overrides(),
        torch.zeros in get_ignored_functions(),
        torch.tensor in get_ignored_functions(),
        resolve_name(torch.Tensor.cuda).replace("cuda", "x"),
        resolve_name(torch.Tensor.to),
        resolve_name(torch.zeros_like),
        is_tensor_method_or_property(torch.Tensor.cuda),
    ]


def disabled_functions() -> Any:
    """`torch._C.DisableTorchFunctionSubclass` around moves"""
    with torch._C.DisableTorchFunctionSubclass():
        return type(torch.ones(2).as_subclass(_Tagged).cuda()).__name__


def device_contexts() -> Any:
    """`with torch.device("cuda")`, nested, and `torch.set_default_device`"""
    answers = []
    with torch.device("cuda"):
        answers += [torch.zeros(1).device, torch.ones(1, device="cpu").device, torch.nn.Linear(1, 1).weight.device]
        with torch.device("cuda:1"):
            answers += [torch.arange(2).device, torch.tensor(1.0).device, torch.get_default_device()]
        answers += [torch.zeros_like(torch.ones(1, device="cpu")).device]
    torch.set_default_device("cuda:1")
    try:
        answers += [torch.empty(1).device, torch.get_default_device(), torch.randn(2).device]
    finally:
        torch.set_default_device(None)
    return [str(each) for each in [*answers, torch.zeros(1).device]]


def device_decorators() -> Any:
    """`torch.utils._device.set_device("cuda")` as a decorator"""
    from torch.utils._device import set_device

    return str(set_device("cuda")(lambda: torch.ones(1))().device)
