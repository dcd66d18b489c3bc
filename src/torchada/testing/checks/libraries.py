"""Autocast, collectives, and what the descriptor says of build tools and the management library."""

from __future__ import annotations

from importlib import import_module

from torchada.testing.subject import Lacks, NotHere, Subject, expect


def autocast(subject: Subject) -> None:
    torch, name = subject.torch, subject.backend.device_type
    host, own = subject.numbers(4, 4)
    lower = subject.get("get_amp_supported_dtype")()[0]
    with torch.autocast(name, dtype=lower):
        product, total = own @ own, own + own
    if product.dtype is torch.float32:
        raise Lacks(f"a product of matrices under torch.autocast({name!r}) is computed in float32")
    expect(product.dtype is lower, f"a product of matrices under autocast to {lower} is of type {product.dtype}")
    expect(total.dtype is torch.float32, f"a sum under autocast is of type {total.dtype}; CUDA leaves it as it is")
    expect((own @ own).dtype is torch.float32, "autocast goes on after its with-block")
    subject.same((own @ own), host @ host, "a product of matrices after autocast")


def collectives(subject: Subject) -> None:
    distributed, names = subject.torch.distributed, subject.backend.collectives.names
    if not names:
        raise Lacks("the descriptor names no communication backend")
    if not distributed.is_available() or distributed.is_initialized():
        raise NotHere("torch.distributed is in use, or torch was built without it")
    for cuda, own in names.items():
        expect(
            subject.backend.collectives.process_group(distributed, cuda) is not None,
            f"torch.distributed has no ProcessGroup{own.upper()} for {cuda!r}",
        )
        _reduced(subject, own)


def _reduced(subject: Subject, name: str) -> None:
    distributed = subject.torch.distributed
    distributed.init_process_group(name, rank=0, world_size=1, store=distributed.HashStore())
    try:
        host, own = subject.numbers(4)
        distributed.all_reduce(own)
        subject.same(own, host, f"the sum of one process by {name!r}")
    finally:
        distributed.destroy_process_group()


def build(subject: Subject) -> None:
    tools = subject.backend.build
    if tools is None:
        raise Lacks("the descriptor names no build tools")
    module = import_module(tools.module)
    absent = [name for name in (tools.home, "include_paths", "library_paths") if not hasattr(module, name)]
    expect(not absent, f"{tools.module} has no {', '.join(absent)}")


def management(subject: Subject) -> None:
    library = subject.backend.management
    if library is None:
        raise Lacks("the descriptor names no library")
    try:
        module = import_module(library.module)
    except ImportError as missing:
        raise NotHere(f"{missing}; pip install {library.package}") from missing
    names = ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID")
    absent = [name for name in names if not hasattr(module, name)]
    expect(not absent, f"{library.module} has no {', '.join(absent)}")
