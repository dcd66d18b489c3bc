"""The device as PyTorch knows it: its name, its namespace, its functions' arguments, its dispatch keys, its visible devices."""

from __future__ import annotations

import inspect
from typing import Any

from torchada.testing.subject import Lacks, Subject, expect

# How CUDA programs call functions of torch.cuda.
_CALLS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "current_stream": ((), (0,)),
    "default_stream": ((), (0,)),
    "device": ((0,),),
    "empty_cache": ((),),
    "get_device_capability": ((), (0,)),
    "get_device_name": ((), (0,)),
    "get_device_properties": ((0,),),
    "get_rng_state": ((), (0,)),
    "manual_seed": ((0,),),
    "manual_seed_all": ((0,),),
    "max_memory_allocated": ((), (0,)),
    "mem_get_info": ((), (0,)),
    "memory_allocated": ((), (0,)),
    "memory_stats": ((), (0,)),
    "set_device": ((0,),),
    "set_rng_state": ((None,), (None, 0)),
    "stream": ((None,),),
    "synchronize": ((), (0,)),
}


def device_type(subject: Subject) -> None:
    name = subject.backend.device_type
    try:
        device = subject.torch.device(name, 0)
    except RuntimeError as error:
        raise Lacks(f"torch.device({name!r}) is not understood: {error}") from error
    expect(device.type == name, f"torch.device({name!r}).type is {device.type!r}")
    if subject.backend.names.dispatch_key == "PrivateUse1":
        renamed = subject.torch._C._get_privateuse1_backend_name()
        expect(renamed == name, f"the device of PrivateUse1 is called {renamed!r}, not {name!r}")


def namespace(subject: Subject) -> None:
    name = subject.backend.namespace
    if subject.namespace is None:
        raise Lacks(f"there is no torch.{name}; torch._register_device_module({name!r}, module) puts it there")
    module = subject.torch.get_device_module(subject.backend.device_type)
    is_ours = module is subject.namespace or module is subject.torch.cuda
    expect(is_ours, f"torch.get_device_module({subject.backend.device_type!r}) is {module!r}")


def signatures(subject: Subject) -> None:
    for name, calls in _CALLS.items():
        function = subject.get(name)
        for arguments in calls if callable(function) else ():
            call = f"{name}({', '.join(map(repr, arguments))})"
            expect(_takes(function, arguments), f"{call} is not what its {name} takes; programs for CUDA call it so")


def _takes(function: Any, arguments: tuple[Any, ...]) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True


def renames(subject: Subject) -> None:
    absent = [f"{own} (for {name})" for name, own in subject.backend.names.renames.items() if subject.get(name) is None]
    expect(
        not absent, f"the descriptor names what torch.{subject.backend.namespace} does not have: {', '.join(absent)}"
    )


def dispatch_keys(subject: Subject) -> None:
    known = subject.torch._C.DispatchKey.__members__
    unknown = sorted(own for own in subject.backend.names.dispatch_keys.values() if own not in known)
    expect(not unknown, f"torch has no dispatch key {', '.join(unknown)}")


def custom_kernel(subject: Subject) -> None:
    torch, key = subject.torch, subject.backend.names.dispatch_key
    library = torch.library.Library("torchada_check", "FRAGMENT")
    try:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, key)
        host, own = subject.numbers(3)
        subject.same(torch.ops.torchada_check.twice(own), host + host, f"what a kernel for {key} returns")
    finally:
        library._destroy()


def native(subject: Subject) -> None:
    name = subject.backend.native.module
    if not name:
        raise Lacks("the descriptor names none")
    module: object = subject.namespace
    for part in name.split("."):
        module = getattr(module, part, None)
    expect(module is not None, f"torch.{subject.backend.namespace} has no {name}")


def visible_devices(subject: Subject) -> None:
    count, variable = subject.namespace.device_count(), subject.backend.visible_devices
    for value, expected in (("", 0), ("0", 1), (str(count - 1), 1)):
        left = subject.child("print(namespace.device_count())", **{variable: value})
        expect(left == str(expected), f"of {count} devices, {variable}={value!r} leaves {left}, not {expected}")
