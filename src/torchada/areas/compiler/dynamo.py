"""torch.compile's own tables: what it evaluates itself, or runs while it traces, instead of calling what has been redirected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.namespaces import forget_functions

if TYPE_CHECKING:
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.symbolic_convert import InstructionTranslatorBase
    from torch._dynamo.trace_rules import SkipResult
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.tensor import TensorVariable
    from torch._dynamo.variables.user_defined import UserDefinedClassVariable
    from torch._guards import Guard

    from torchada.redirect.types import HasDevice

    Tracked = VariableTracker | None
    Table = dict[str, type[VariableTracker]]

Args = tuple[object, ...]
Kwargs = dict[str, object]

# Functions of CUDA that torch.compile calls while it traces, and then once more, because it puts them into its graph and finds
# that a graph cannot hold their result. Their effect must not happen twice, or they fail on tensors without data.
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
# Functions that are traced as the program's own functions are, or give a constant that way (`dynamo_constants`).
_PYTHON = ("torch.cuda.cudart", "torch._C.is_autocast_enabled")


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


def _is_cuda(
    context: Context, original: Callable[[TensorVariable, InstructionTranslatorBase], Tracked]
) -> Callable[[TensorVariable, InstructionTranslatorBase], Tracked]:
    """torch.compile compares the device type with "cuda" itself, and would fold the attribute to False."""
    device_type = context.backend.device_type

    def method_attr_is_cuda(self: TensorVariable, tx: InstructionTranslatorBase) -> Tracked:
        if self.device is None or self.device.type != device_type:
            return original(self, tx)
        from torch._dynamo.variables.constant import ConstantVariable

        return ConstantVariable.create(True)

    return method_attr_is_cuda


def _files() -> Patch:
    """Our functions are treated as torch's own: traced where compiled code calls them, and not compiled by themselves elsewhere.

    After a graph break torch calls them directly, in the place of the original, and a graph of its own would be of no use there.
    """
    from torch._dynamo import trace_rules

    original, skip, ours = trace_rules.check_file, trace_rules.SkipResult, f"{Path(__file__).parents[2]}{os.sep}"

    def check_file(filename: str | None, is_inlined_call: bool = False) -> SkipResult:
        if filename is not None and filename.startswith(ours):
            return skip(not is_inlined_call, "it replaces a function of torch")
        return original(filename, is_inlined_call)

    return Patch(
        trace_rules, "check_file", disguise(check_file, original), None, note="redirected functions under torch.compile"
    )


def _guards(context: Context) -> Patch:
    """The table of devices never changes and needs no guard. A guard could not name its keys: "cuda" means another device."""
    from torch._dynamo.guards import GuardBuilder

    original, table = GuardBuilder.DICT_KEYS_MATCH, context.devices.table

    def DICT_KEYS_MATCH(self: GuardBuilder, guard: Guard) -> None:
        if _guarded(self, guard) is not table:
            original(self, guard)

    call = disguise(DICT_KEYS_MATCH, original)
    return Patch(GuardBuilder, "DICT_KEYS_MATCH", call, None, note="devices under torch.compile")


def _guarded(builder: GuardBuilder, guard: Guard) -> object:
    get: Any = builder.get
    try:
        return get(guard)
    except TypeError:  # up to torch 2.7 it takes the name
        return get(guard.name)


def _device_from_number(context: Context) -> Patch:
    """torch.device("cuda", i): torch.compile makes a second value of i a symbol, which a constructor in Python cannot take."""
    from torch._dynamo.variables.constant import ConstantVariable
    from torch._dynamo.variables.tensor import SymNodeVariable
    from torch._dynamo.variables.user_defined import UserDefinedClassVariable

    original, device = UserDefinedClassVariable.call_function, context.torch.device

    def number(tx: InstructionTranslatorBase, argument: VariableTracker) -> VariableTracker:
        argument = argument.realize()
        if not isinstance(argument, SymNodeVariable):
            return argument
        return ConstantVariable.create(argument.evaluate_expr(tx.output))

    def call_function(
        self: UserDefinedClassVariable,
        tx: InstructionTranslatorBase,
        args: list[VariableTracker],
        kwargs: dict[str, VariableTracker],
    ) -> VariableTracker:
        if self.value is device:
            args = [number(tx, argument) for argument in args]
            kwargs = {name: number(tx, argument) for name, argument in kwargs.items()}
        return original(self, tx, args, kwargs)

    call = disguise(call_function, original)
    return Patch(
        UserDefinedClassVariable, "call_function", call, None, note='torch.device("cuda", i) under torch.compile'
    )


def _rules(context: Context) -> Iterator[Patch]:
    """What torch.compile does with a function, listed by its name."""
    from torch._dynamo import trace_rules
    from torch._dynamo.variables import SkipFunctionVariable, TorchInGraphFunctionVariable, UserFunctionVariable

    tables: Any = trace_rules.torch_name_rule_map
    rules: Table = {
        **dict.fromkeys(_CALLED_TWICE, SkipFunctionVariable),
        **dict.fromkeys(_PYTHON, UserFunctionVariable),
    }
    for table in tables:
        for name, rule in rules.items():
            if name in table:
                yield Patch(table, name, rule, None, note=f"{name} under torch.compile", refresh=forget_functions)
    # The adapter's functions, which mean its device where none is named, call torch's; those are redirected, and torch.compile
    # does not find them by name.
    # It does with them what it does with the originals: torch 2.7 calls set_autocast_enabled outside of its graphs.
    for name in ("is_autocast_enabled", "set_autocast_enabled"):
        known = (table[f"torch._C.{name}"] for table in tables if f"torch._C.{name}" in table)
        note, rule = f"torch.{name} under torch.compile", next(known, TorchInGraphFunctionVariable)
        yield Patch(tables[-1], f"torch.{name}", rule, None, note=note, refresh=forget_functions)


def _interface(context: Context) -> Iterator[Patch]:
    """Up to torch 2.7, a stream context looks up the device's interface; CUDA's works where the backend has registered none."""
    from torch._dynamo import device_interface, utils

    own, known = context.backend.device_type, device_interface.device_interfaces
    if not hasattr(utils, "build_stream") and own not in known:
        note = "torch.cuda.stream(...) under torch.compile"
        yield Patch(known, own, device_interface.CudaInterface, None, until="torch 2.8", note=note)


def _no_stream() -> Iterator[Patch]:
    """`with torch.cuda.stream(None)` does nothing, but torch.compile takes every argument for a stream."""
    from torch._dynamo.variables import builder
    from torch._dynamo.variables.ctx_manager import NullContextVariable

    contexts: Any = vars(builder)["StreamContextVariable"]
    original: Callable[..., VariableTracker] = contexts.create

    def create(
        tx: InstructionTranslatorBase, stream: VariableTracker, *args: object, **kwargs: object
    ) -> VariableTracker:
        if stream.is_python_constant() and stream.as_python_constant() is None:
            return NullContextVariable()
        return original(tx, stream, *args, **kwargs)

    call = staticmethod(disguise(create, original))
    yield Patch(contexts, "create", call, None, note="torch.cuda.stream(None) under torch.compile")


def _made_in_graphs(context: Context) -> Iterator[Patch]:
    """Streams and events that compiled code makes are of torch's general classes, without `cuda_stream` and `cuda_event`."""
    from torch._dynamo import utils

    namespace, own = context.namespace, context.backend.device_type

    def build_stream(args: Args, kwargs: Kwargs) -> HasDevice:
        stream = general_stream(args, kwargs)
        return namespace.Stream(*args, **kwargs) if stream.device.type == own else stream

    def build_event(args: Args, kwargs: Kwargs) -> object:
        if not _names_a_device(context, args, kwargs):
            return namespace.Event(*args, **kwargs)
        return general_event(args, kwargs)

    if hasattr(utils, "build_stream"):
        general_stream: Callable[..., HasDevice] = utils.build_stream
        general_event: Callable[..., object] = utils.build_event
        stream, event = disguise(build_stream, general_stream), disguise(build_event, general_event)
        yield Patch(utils, "build_stream", stream, None, note="torch.cuda.Stream() under torch.compile")
        yield Patch(utils, "build_event", event, None, note="torch.cuda.Event() under torch.compile")


def _names_a_device(context: Context, args: Args, kwargs: Kwargs) -> bool:
    """Whether these are arguments of torch.Event, and not of torch.cuda.Event, which takes no device."""
    return "device" in kwargs or (bool(args) and isinstance(args[0], (str, context.torch.device)))
