"""Put a recording function around each replacement of an area. While recording is off, this module is not loaded.

A function is wrapped by a function, a property by a property, an EntryPoint by an EntryPoint; a class stays the same class, and
its constructor gets its own patch; anything else (values, slots of C types, tables) is not changed. Under torch.compile Dynamo
folds the recording branch away where it traces Python, so that recording causes no graph break.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from inspect import signature
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from torchada.redirect.by_view import QUESTIONS, Question, declared, is_by_view
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import EntryPoint
from torchada.redirect.unsupported import UnsupportedError
from torchada.telemetry.recorder import Use

Function = Callable[..., Any]
Note = Callable[[Use, FrameType], None]
_CACHED = type(lru_cache(len))
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, MethodType, WrapperDescriptorType, _CACHED)
_SHOWN_ARGUMENT = re.compile(r"[(\[].*(?:cuda|nccl|gpu)", re.IGNORECASE)
# Devices, devices of a worker, communication backends, dispatch keys, legacy types, libraries by name and by file; not other files
# that have such a word in their name.
_OF_CUDA = re.compile(
    r"(?:.*[,:])?(?:cuda|nccl)(?:[,:].*)?|\w+/cuda:\d+|\w*CUDA\w*|torch\.cuda\..+"
    r"|cu(?:dart|dnn|blas|blasLt|fft|pti|rand|solver|sparse)|nv(?:rtc|jpeg)|(?:.*/)?lib(?:cu|nccl|nv)\w*\.so[.\d]*"
)
_FEW = 8


class Observer:
    """Turns the patches of an area into patches that record. `note(use, frame)` counts; it must not raise."""

    def __init__(self, context: Context, note: Note) -> None:
        self._context = context
        self._note = note
        # One object patched into several places stays one object; the first place names the API.
        self._recorded: dict[int, tuple[Any, Any]] = {}

    def observe(self, patches: Iterable[Patch]) -> list[Patch]:
        """The patches with recorded replacements, and additional ones for the constructors of classes."""
        return [observed for patch in patches for observed in self._observe(patch)]

    def untouched(self) -> Iterator[Patch]:
        """Patches that record the public functions of torch.cuda that no area redirects."""
        cuda = self._context.torch.cuda
        ours = {id(recorded) for _, recorded in self._recorded.values()}
        for name in dict.fromkeys(cuda.__all__):
            function = vars(cuda).get(name)
            own = isinstance(function, FunctionType) and str(function.__module__).startswith("torch.cuda")
            if own and id(function) not in ours:
                use = Use(f"torch.cuda.{name}", "untouched", "torch itself")
                patch = Patch(cuda, name, function, use.api)
                yield patch._replace(replacement=self._function(patch, function, use))

    def _observe(self, patch: Patch) -> Iterator[Patch]:
        value = patch.replacement
        if patch.api is None:
            yield patch
        elif isinstance(value, type):
            yield patch
            yield from self._constructor(patch, value)
        else:
            yield patch._replace(replacement=self._value(patch, value))

    def _value(self, patch: Patch, value: Any) -> Any:
        if isinstance(value, (staticmethod, classmethod)):
            return type(value)(self._value(patch, value.__func__))
        if not isinstance(value, (*_FUNCTIONS, property, EntryPoint)):
            return value
        if id(value) not in self._recorded:
            self._recorded[id(value)] = (value, self._make(patch, value))
        recorded = self._recorded[id(value)][1]
        # In a class, a C function is not bound to the instance, and ours would be.
        bare = isinstance(value, BuiltinFunctionType) and isinstance(patch.owner, type)
        return staticmethod(recorded) if bare else recorded

    def _make(self, patch: Patch, value: Any) -> Any:
        use = _use(patch, self._context)
        if isinstance(value, property):
            get, put, delete = (
                part and self._answer(patch, part, use) for part in (value.fget, value.fset, value.fdel)
            )
            return property(get, put, delete, value.__doc__)
        if isinstance(value, EntryPoint):
            redirected = self._function(patch, value._self_redirected, use, value.__wrapped__)
            return EntryPoint(value.__wrapped__, redirected, value._self_place)
        return self._answer(patch, value, use)

    def _answer(self, patch: Patch, function: Function, use: Use) -> Function:
        if is_by_view(function):
            return self._question(patch, function, use, QUESTIONS[function])
        return self._function(patch, function, use)

    def _question(self, patch: Patch, function: Function, use: Use, question: Question) -> Function:
        """A function that answers by the view of the code that asks, recorded with the view."""
        cuda = Use(use.api, use.kind, f"{use.to}, for code that sees CUDA")
        honest = Use(use.api, "untouched", "torch itself, for code that sees the backend")
        note, compiling, sees_cuda = (
            self._note,
            self._context.torch.compiler.is_dynamo_compiling,
            self._context.views.sees_cuda,
        )
        frame = sys._getframe

        def call(*args: object, **kwargs: object) -> object:
            if compiling():
                return function(*args, **kwargs)
            is_of_cuda = sees_cuda(frame(question.depth).f_globals)
            note(cuda if is_of_cuda else honest, frame(1))
            return (question.cuda if is_of_cuda else question.honest)(*args, **kwargs)

        return declared(_dressed(call, function, patch), question)

    def _constructor(self, patch: Patch, cls: type) -> Iterator[Patch]:
        if id(cls) in self._recorded or not has_own_constructor(cls):
            return
        self._recorded[id(cls)] = (cls, cls)
        use = _use(patch, self._context)
        if getattr(cls, "__new__", None) is object.__new__:
            yield patch._replace(owner=cls, name="__init__", replacement=self._function(patch, cls.__init__, use))  # type: ignore[misc]
        else:
            new = self._function(patch, cls.__new__, use)
            yield patch._replace(owner=cls, name="__new__", replacement=staticmethod(new))

    def _function(self, patch: Patch, function: Function, use: Use, signed: Function | None = None) -> Function:
        """`function`, recorded: at every call if the API's name means CUDA, otherwise if the arguments name CUDA."""
        note, names_cuda = self._note, None if _by_name(use) else _arguments_name_cuda(signed or function)
        refused = Use(use.api, "unsupported")
        compiling = self._context.torch.compiler.is_dynamo_compiling
        frame = sys._getframe

        def call(*args: object, **kwargs: object) -> object:
            if compiling():
                return function(*args, **kwargs)
            if names_cuda is None or names_cuda(args, kwargs):
                note(use, frame(1))
            try:
                return function(*args, **kwargs)
            except UnsupportedError as error:
                if use.kind != "unsupported" and not vars(error).get("recorded"):
                    note(refused, frame(1))
                vars(error)["recorded"] = True
                raise

        return _dressed(call, function, patch)


def has_own_constructor(cls: type) -> bool:
    """Whether a class statement made the class: only then an entry of its dictionary changes its constructor."""
    return bool(cls.__flags__ & 1 << 9 and not cls.__flags__ & 1 << 8)


def _dressed(call: Function, function: Function, patch: Patch) -> Function:
    """`call` with the names and attributes of `function`, or with the name of its place if pickle finds it by that name."""
    for name, value in getattr(function, "__dict__", {}).items():
        setattr(call, name, value)
    for name in ("cache_clear", "cache_info", "cache_parameters") if isinstance(function, _CACHED) else ():
        if hasattr(function, name):
            setattr(call, name, getattr(function, name))
    disguise(call, function)
    home = sys.modules.get(str(getattr(function, "__module__", None)))
    if isinstance(patch.owner, ModuleType) and getattr(home, call.__name__, None) is function:
        call.__module__, call.__qualname__ = patch.owner.__name__, patch.name
        call.__name__ = patch.name
    return call


def _use(patch: Patch, context: Context) -> Use:
    """What reports show for a patch. If the replacement is the backend's own object, they show its name."""
    backend, name, api = context.backend, str(patch.name), patch.api or str(patch.name)
    device_type = backend.device_type
    for own in (name, backend.names.own(name)):
        if patch.kind in ("same", "adapted") and vars(context.namespace).get(own, patch) is patch.replacement:
            return Use(api, "same", patch.to or f"torch.{backend.namespace}.{own}")
    if patch.to or patch.kind == "unsupported":
        return Use(api, patch.kind, patch.to)
    if patch.kind == "emulated":
        return Use(api, patch.kind, "torchada")
    translated = api.replace('"cuda', f'"{device_type}')
    return Use(api, patch.kind, translated if translated != api else f'the same on "{device_type}"')


def _by_name(use: Use) -> bool:
    """Whether every call uses the API, or only a call with arguments of the kind that the API's name shows."""
    return use.kind == "unsupported" or not _SHOWN_ARGUMENT.search(use.api)


def _arguments_name_cuda(function: Function) -> Callable[[tuple[object, ...], dict[str, object]], bool]:
    """Whether the arguments of a call of `function`, including its defaults, name CUDA."""
    defaults = _defaults_of_cuda(function)

    def name_cuda(args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
        for value in args:
            if _names_cuda(value):
                return True
        for value in kwargs.values():
            if _names_cuda(value):
                return True
        return any(len(args) <= position and name not in kwargs for name, position in defaults)

    return name_cuda


def _defaults_of_cuda(function: Function) -> list[tuple[str, int]]:
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [(parameter.name, i) for i, parameter in enumerate(parameters) if _names_cuda(parameter.default)]


def _names_cuda(value: Any) -> bool:
    if isinstance(value, str):
        return _is_of_cuda(value)
    kind = type(value)
    if kind is dict or kind is list or kind is tuple or kind is set:  # map_location, activities
        entries = [*value, *value.values()] if kind is dict else value
        return len(value) <= _FEW and any(map(_names_cuda, entries))
    if kind is bytes:
        return _is_of_cuda(value.decode(errors="replace"))
    # Enumerations, including pybind11's, such as ProfilerActivity.CUDA.
    return hasattr(kind, "__members__") and _is_of_cuda(str(value.name))


@lru_cache(maxsize=1024)
def _is_of_cuda(word: str) -> bool:
    return len(word) < 200 and _OF_CUDA.fullmatch(word) is not None
