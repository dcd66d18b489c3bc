"""Calls what is public in parts of torch, as a program for CUDA, and prints each text in which the backend's name occurs.

Run as a program: it must not say that name itself. A text is what a call returns, or what the error that it raises says.
"""

from __future__ import annotations

import contextlib
import io
import json
import types
import warnings
from collections.abc import Iterator
from typing import Any

import torch
import torch.amp
import torch.distributed
import torch.export
import torch.fx
import torch.profiler

NAME = bytes([109, 117, 115, 97]).decode()
MODULES = (
    torch.cuda,
    torch.cuda.amp,
    torch.cuda.memory,
    torch.cuda.nccl,
    torch.cuda.nvtx,
    torch.cuda.profiler,
    torch.cuda.random,
    torch.cuda.streams,
    torch.accelerator,
    torch.amp,
    torch.autograd.profiler,
    torch.backends.cuda,
    torch.backends.cudnn,
    torch.distributed,
    torch.export,
    torch.fx,
    torch.profiler,
)
# They end the process, wait for somebody, or leave nothing that works behind.
LEFT_OUT = {
    "breakpoint",
    "caching_allocator_delete",
    "change_current_allocator",
    "destroy_process_group",
    "set_per_process_memory_fraction",
    "start_processes",
    "tunable",
    "use_mem_pool",
}


def arguments() -> list[tuple[Any, ...]]:
    on_device = torch.ones(2, device="cuda")
    return [
        (),
        (0,),
        ("cuda",),
        ("cuda:99",),
        (99,),
        (on_device,),
        (on_device, torch.ones(2)),
        (torch.device("cuda", 0),),
    ]


def texts(value: Any) -> Iterator[str]:
    """What a program can read of a value. Classes, functions and modules say where they were written, and are left out."""
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType | types.MethodType):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (*texts(key), *texts(inner))
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, BaseException):
        yield from (str(value), *texts(value.args))
    else:
        if type(value).__repr__ is object.__repr__:  # it says the name of the class alone
            return
        with contextlib.suppress(AttributeError):  # of what was made without what it needs
            yield from (str(value), repr(value))
        kept = (
            getattr(value, name) for name, inner in getattr(value, "__dict__", {}).items() if isinstance(inner, str)
        )
        yield from kept


def called(function: Any, given: tuple[Any, ...]) -> Any:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return function(*given)
    except (Exception, SystemExit) as error:
        return error


def walk() -> Iterator[tuple[str, str]]:
    for module in MODULES:
        for name in getattr(module, "__all__", [name for name in dir(module) if not name.startswith("_")]):
            function = getattr(module, name, None)
            if name in LEFT_OUT or not callable(function):
                continue
            for given in arguments():
                value = called(function, given)
                for text in texts(value):
                    if NAME in text.lower():
                        kind = f"{type(value).__name__}: " if isinstance(value, BaseException) else ""
                        yield f"{module.__name__}.{name}", kind + text


def errors() -> Iterator[tuple[str, str]]:
    """Errors that PyTorch and the runtime raise for what programs do wrong with devices."""
    on_device, on_cpu = torch.ones(2, device="cuda"), torch.ones(2)
    wrong = {
        "two devices": lambda: on_device + on_cpu,
        "to NumPy": lambda: on_device.numpy(),
        "pinned": lambda: on_device.pin_memory(),
        "memory": lambda: torch.empty(1 << 50, device="cuda"),
        "device": lambda: torch.ones(1, device="cuda:99"),
        "set_device": lambda: torch.cuda.set_device(99),
        "generator": lambda: on_device.normal_(generator=torch.Generator()),
        "generator of the device": lambda: torch.Generator("cuda:99"),
        "kind of device": lambda: torch.cuda.synchronize("cpu"),
        "module": lambda: torch.nn.Linear(2, 2).cuda()(on_cpu),
        "load": lambda: torch.load(saved(on_device), map_location="cuda:99"),
        "index": lambda: on_cpu[on_device.long()],
        "chunks": lambda: torch.tensor_split(on_cpu, on_device.long()),
    }
    for name, call in wrong.items():
        value = called(call, ())
        assert isinstance(value, Exception), name
        yield from ((f"error: {name}", text) for text in texts(value) if NAME in text.lower())


def saved(tensor: torch.Tensor) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return file


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said: dict[str, list[str]] = {}
        for place, text in (*errors(), *walk()):
            said.setdefault(place, []).append(text)
    print(json.dumps(said))
