"""What is pickled: by hand, by torch.save, between processes."""

from __future__ import annotations

import copy
import dataclasses
import functools
import io
import multiprocessing.reduction
import pickle
import pickletools
from typing import Any

import torch


def _globals(data: bytes) -> list[str]:
    """What a pickle of protocol 2 imports."""
    return [
        str(argument).replace(" ", ".") for opcode, argument, _ in pickletools.genops(data) if opcode.name == "GLOBAL"
    ]


def devices() -> Any:
    """devices, by every protocol"""
    device = torch.device("cuda:1")
    copies = [pickle.loads(pickle.dumps(device, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    return [all(type(each) is torch.device and each == device for each in copies), _globals(pickle.dumps(device, 2))]


def functions() -> Any:
    """functions and methods of torch, by reference to torch"""
    functions = (
        torch.zeros,
        torch.tensor,
        torch.Tensor.new_zeros,
        torch.load,
        torch.autocast,
        torch.device,
        torch.Tensor.cuda,
    )
    data = pickle.dumps(functions, 2)
    same = [found is function for found, function in zip(pickle.loads(data), functions)]
    roots = {name.partition(".")[0] for name in _globals(pickle.dumps(functions[:-1], 2))}
    return [same, copy.deepcopy(functions) == functions, roots - {"builtins", "__builtin__"}]


def partials() -> Any:
    """`functools.partial(torch.zeros, device="cuda")`"""
    make = pickle.loads(pickle.dumps(functools.partial(torch.zeros, 2, device=torch.device("cuda"))))
    return str(make().device)


def entry_points() -> Any:
    """Python functions that take a device: `fork_rng`, `init_process_group`, `checkpoint`"""
    import torch.utils.checkpoint

    functions = torch.random.fork_rng, torch.set_default_device, torch.utils.checkpoint.checkpoint, torch.load
    return [pickle.loads(pickle.dumps(each)) is each for each in functions]


@dataclasses.dataclass
class _Settings:
    device: torch.device
    name: str


def data_classes() -> Any:
    """data classes that hold devices"""
    settings = _Settings(torch.device("cuda:1"), "x")
    return copy.deepcopy(settings) == settings


def tensors() -> Any:
    """tensors and parameters on the device"""
    x = torch.nn.Parameter(torch.arange(3.0, device="cuda:1"))
    for copied in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert type(copied) is torch.nn.Parameter and copied.tolist() == [0, 1, 2]
    return [str(pickle.loads(pickle.dumps(x)).device), str(copy.deepcopy(x).device)]


def between_processes() -> Any:
    """what multiprocessing's own pickler makes of devices and functions"""
    value = {"device": torch.device("cuda:1"), "make": functools.partial(torch.ones, device="cuda")}
    data = bytes(multiprocessing.reduction.ForkingPickler.dumps(value))
    found = multiprocessing.reduction.ForkingPickler.loads(data)
    return [found["device"], str(found["make"](2).device)]


def modules() -> Any:
    """modules and their optimizers, whole"""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 2, device="cuda")).sum().backward()
    optimizer.step()
    again, other = pickle.loads(pickle.dumps((model, optimizer)))
    assert other.param_groups[0]["params"][0] is again[0].weight
    return [{str(p.device) for p in again.parameters()}, str(copy.deepcopy(model)[0].weight.device)]


def saved_settings() -> Any:
    """`torch.save` of a device, read with `weights_only=True`"""
    buffer = io.BytesIO()
    torch.save({"device": torch.device("cuda:1"), "x": torch.ones(2, device="cuda:1")}, buffer)
    buffer.seek(0)
    found = torch.load(buffer, weights_only=True)
    return [found["device"], found["x"].device]


def saved_and_mapped() -> Any:
    """`torch.load` with every form of `map_location`"""
    buffer = io.BytesIO()
    torch.save(torch.ones(2, device="cuda:1"), buffer)
    answers = []
    for location in (
        None,
        "cpu",
        "cuda",
        "cuda:0",
        torch.device("cuda:1"),
        {"cuda:1": "cuda:0"},
        lambda s, _: s.cuda(0),
    ):
        buffer.seek(0)
        answers.append(str(torch.load(buffer, map_location=location).device))
    return answers


def generators() -> Any:
    """the state of a generator, and the generator in `torch.save`'s reach"""
    generator = torch.Generator("cuda").manual_seed(3)
    state = pickle.loads(pickle.dumps(generator.get_state()))
    first = torch.rand(2, device="cuda", generator=generator)
    generator.set_state(state)
    return torch.equal(first, torch.rand(2, device="cuda", generator=generator))


def graph_modules() -> Any:
    """a traced `GraphModule` with a device in it"""
    from torch import fx

    module = fx.symbolic_trace(lambda x: x + torch.ones(2, device=torch.device("cuda:1")))
    again = pickle.loads(pickle.dumps(module))
    return [again.code, again(torch.ones(2, device="cuda:1")).tolist(), copy.deepcopy(module).code == module.code]


def packages() -> Any:
    """`torch.package`: a model written and imported"""
    buffer = io.BytesIO()
    with torch.package.PackageExporter(buffer) as exporter:
        exporter.save_pickle("model", "model.pkl", torch.nn.Linear(2, 2).cuda())
        exporter.save_pickle("model", "device.pkl", torch.device("cuda:1"))
        exporter.extern("**")
    buffer.seek(0)
    importer = torch.package.PackageImporter(buffer)
    model = importer.load_pickle("model", "model.pkl", map_location="cuda:1")
    return [str(model.weight.device), importer.load_pickle("model", "device.pkl")]
