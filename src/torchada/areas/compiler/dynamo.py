"""torch.compile's own tables: what it answers by itself, or runs while it traces, instead of calling what has been redirected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.namespaces import forget_functions

# Functions of CUDA's that torch.compile calls while it traces, and then once more: it puts them into its graph and finds that
# their answer is none for a graph. They have an effect that must not come twice, or do not work on tensors without data.
_CALLED_TWICE = (
    "torch._C._cuda_exchangeDevice",
    "torch.cuda.memory.caching_allocator_alloc",
    "torch.cuda.memory.caching_allocator_delete",
    "torch.cuda.memory.change_current_allocator",
    "torch.cuda.nvtx.range_pop",
    "torch.cuda.nvtx.range_push",
    "torch.cuda.random.get_rng_state_all",
    "torch.cuda.random.set_rng_state_all",
)
# Functions to be traced as the program's own are.
_PYTHON = ("torch.cuda.cudart",)


def patches(context: Context) -> Iterator[Patch]:
    from torch._dynamo.variables.tensor import TensorVariable

    answer = _is_cuda(context, TensorVariable.method_attr_is_cuda)
    yield Patch(TensorVariable, "method_attr_is_cuda", answer, None, note="Tensor.is_cuda under torch.compile")
    yield _files()
    yield _guards(context)
    yield _device_from_number(context)
    yield from _rules(context)
    yield from _interface(context)
    yield from _no_stream()
    yield from _made_in_graphs(context)


def _is_cuda(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    """Answered from a table of device types, it would be folded to False."""
    device_type = context.backend.device_type

    def method_attr_is_cuda(self: Any, tx: Any) -> Any:
        if self.device is None or self.device.type != device_type:
            return original(self, tx)
        from torch._dynamo.variables.constant import ConstantVariable

        return ConstantVariable.create(True)

    return method_attr_is_cuda


def _files() -> Patch:
    """Functions of ours are as torch's own: traced where compiled code calls them, and not compiled by themselves elsewhere.

    They are reached by themselves where torch has broken its graph and calls the original's place, and are of no use to a graph.
    """
    from torch._dynamo import trace_rules

    original, skip, ours = trace_rules.check_file, trace_rules.SkipResult, f"{Path(__file__).parents[2]}{os.sep}"

    def check_file(filename: Any, is_inlined_call: bool = False) -> Any:
        if filename is not None and filename.startswith(ours):
            return skip(not is_inlined_call, "it stands in for a function of torch")
        return original(filename, is_inlined_call)

    return Patch(
        trace_rules, "check_file", disguise(check_file, original), None, note="redirected functions under torch.compile"
    )


def _guards(context: Context) -> Patch:
    """The table of devices never changes, and needs no guard. One could not name its keys: "cuda" is read as another device."""
    from torch._dynamo.guards import GuardBuilder

    original, table = GuardBuilder.DICT_KEYS_MATCH, context.devices.table

    def DICT_KEYS_MATCH(self: Any, guard: Any) -> None:
        if _guarded(self, guard) is not table:
            original(self, guard)

    call = disguise(DICT_KEYS_MATCH, original)
    return Patch(GuardBuilder, "DICT_KEYS_MATCH", call, None, note="devices under torch.compile")


def _guarded(builder: Any, guard: Any) -> Any:
    try:
        return builder.get(guard)
    except TypeError:  # up to torch 2.7 it takes the name
        return builder.get(guard.name)


def _device_from_number(context: Context) -> Patch:
    """torch.device("cuda", i): torch.compile makes the second i a symbol, which a constructor written in Python cannot take."""
    from torch._dynamo.variables.constant import ConstantVariable
    from torch._dynamo.variables.tensor import SymNodeVariable
    from torch._dynamo.variables.user_defined import UserDefinedClassVariable

    original, device = UserDefinedClassVariable.call_function, context.torch.device

    def number(tx: Any, argument: Any) -> Any:
        argument = argument.realize()
        if not isinstance(argument, SymNodeVariable):
            return argument
        return ConstantVariable.create(argument.evaluate_expr(tx.output))

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if self.value is device:
            args = [number(tx, argument) for argument in args]
            kwargs = {name: number(tx, argument) for name, argument in kwargs.items()}
        return original(self, tx, args, kwargs)

    call = disguise(call_function, original)
    return Patch(
        UserDefinedClassVariable, "call_function", call, None, note='torch.device("cuda", i) under torch.compile'
    )


def _rules(context: Context) -> Iterator[Patch]:
    """What torch.compile does with a function, by its name."""
    from torch._dynamo import trace_rules
    from torch._dynamo.variables import SkipFunctionVariable, TorchInGraphFunctionVariable, UserFunctionVariable

    tables: Any = trace_rules.torch_name_rule_map
    rules: dict[str, Any] = {
        **dict.fromkeys(_CALLED_TWICE, SkipFunctionVariable),
        **dict.fromkeys(_PYTHON, UserFunctionVariable),
    }
    for table in tables:
        for name, rule in rules.items():
            if name in table:
                yield Patch(table, name, rule, None, note=f"{name} under torch.compile", refresh=forget_functions)
    if not context.mechanism.native:
        # The adapter's own, which mean its device where none is named, call torch's; those are redirected, and known by no name.
        for name in ("torch.is_autocast_enabled", "torch.set_autocast_enabled"):
            note = f"{name} under torch.compile"
            yield Patch(tables[-1], name, TorchInGraphFunctionVariable, None, note=note, refresh=forget_functions)


def _interface(context: Context) -> Iterator[Patch]:
    """Up to torch 2.7, a context of a stream asks for the device's interface; where there is none, CUDA's does."""
    from torch._dynamo import device_interface, utils

    own, known = context.backend.device_type, device_interface.device_interfaces
    if not hasattr(utils, "build_stream") and own not in known:
        note = "torch.cuda.stream(...) under torch.compile"
        yield Patch(known, own, device_interface.CudaInterface, None, until="torch 2.8", note=note)


def _no_stream() -> Iterator[Patch]:
    """`with torch.cuda.stream(None)` does nothing; torch.compile takes every argument for a stream."""
    from torch._dynamo.variables import builder
    from torch._dynamo.variables.ctx_manager import NullContextVariable

    contexts: Any = vars(builder)["StreamContextVariable"]
    original = contexts.create

    def create(tx: Any, stream: Any, *args: Any, **kwargs: Any) -> Any:
        if stream.is_python_constant() and stream.as_python_constant() is None:
            return NullContextVariable()
        return original(tx, stream, *args, **kwargs)

    call = staticmethod(disguise(create, original))
    yield Patch(contexts, "create", call, None, note="torch.cuda.stream(None) under torch.compile")


def _made_in_graphs(context: Context) -> Iterator[Patch]:
    """Streams and events made by compiled code are of torch's general classes, which have no `cuda_stream` and no `cuda_event`."""
    from torch._dynamo import utils

    namespace, own = context.namespace, context.backend.device_type

    def build_stream(args: Any, kwargs: Any) -> Any:
        stream = general_stream(args, kwargs)
        return namespace.Stream(*args, **kwargs) if stream.device.type == own else stream

    def build_event(args: Any, kwargs: Any) -> Any:
        if not _names_a_device(context, args, kwargs):
            return namespace.Event(*args, **kwargs)
        return general_event(args, kwargs)

    if hasattr(utils, "build_stream"):
        general_stream, general_event = utils.build_stream, utils.build_event
        stream, event = disguise(build_stream, general_stream), disguise(build_event, general_event)
        yield Patch(utils, "build_stream", stream, None, note="torch.cuda.Stream() under torch.compile")
        yield Patch(utils, "build_event", event, None, note="torch.cuda.Event() under torch.compile")


def _names_a_device(context: Context, args: Any, kwargs: Any) -> bool:
    """Whether these are arguments of torch.Event, and not of torch.cuda.Event, which takes no device."""
    return "device" in kwargs or (bool(args) and isinstance(args[0], (str, context.torch.device)))
