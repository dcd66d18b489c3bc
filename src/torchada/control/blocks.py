"""Blocks of a program without redirection: they may overlap in threads, and the last to end brings it back."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


class Blocks:
    """A context manager and decorator. All blocks are this one object, which counts those that are open."""

    def __init__(self, is_on: Callable[[], bool], off: Callable[[], None], on: Callable[[], None]) -> None:
        self._is_on, self._off, self._on = is_on, off, on
        self._lock = RLock()
        self._open = 0
        self._was_on = False
        os.register_at_fork(after_in_child=self._renew_lock)

    def __enter__(self) -> None:
        with self._lock:
            if not self._open:
                self._was_on = self._is_on()
                self._off()
            self._open += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                (self._on if self._was_on else self._off)()

    def __call__(self, function: T) -> T:
        """Decorate a function, a generator or a coroutine: all of it runs inside."""
        return wraps(function)(self._around(function))  # type: ignore[return-value]

    def _around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isasyncgenfunction(function):
            name = function.__qualname__
            raise TypeError(f"{name} is an asynchronous generator; write `with torchada.disabled():` inside it")
        if inspect.iscoroutinefunction(function):
            return self._of_coroutine(function)
        return self._of_generator(function) if inspect.isgeneratorfunction(function) else self._of_function(function)

    def _of_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call

    def _of_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def generate(*args: Any, **kwargs: Any) -> Any:
            with self:
                return (yield from function(*args, **kwargs))

        return generate

    def _of_coroutine(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return await function(*args, **kwargs)

        return run

    def _renew_lock(self) -> None:
        """Replace the lock in a forked child, where a thread that held it no longer exists to release it."""
        self._lock = RLock()
