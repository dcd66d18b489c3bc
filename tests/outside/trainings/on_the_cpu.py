"""`on_the_cpu.py PROGRAM ...`: a program that knows GPUs of CUDA alone, on the CPU over gloo. `-m MODULE` names a module.

`--honest -m MODULE` is for one that asks torch which kind of device there is: it is told, and only the questions that torch.cpu has
no answer to are answered.

A control for frameworks that have no other way: tensors are made on the CPU where the program says "cuda", and the names of
torch.cuda that it calls answer as one GPU would that does all its work at once. There is nothing of torchada in it,
and nothing is compiled.
"""

import contextlib
import os
import runpy
import sys
from types import SimpleNamespace

os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # read when torch is imported

import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode
from torch.utils import cpp_extension
from torch.utils._pytree import tree_leaves
from whereabouts import CPU, GPU, Whereabouts

#: What the program takes to be on the GPU, and the GPU's generator.
PLACES = Whereabouts()


def placed(value):
    """A device, wherever it stands in the arguments of a function: the CPU in place of a GPU."""
    if isinstance(value, torch.device):
        return CPU if value.type == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value


class OnTheCPU(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.Tensor.cuda:
            return moved(args[0], args[0], there=True)
        if function is torch.Tensor.type and len(args) == 1 and not kwargs:
            return function(*args).replace("torch.", "torch.cuda.")  # Megatron compares names of types
        given = [*args, *kwargs.values()]
        new = [placed(value) for value in given]
        words, names = new[: len(args)], dict(zip(kwargs, new[len(args) :]))
        goes_there = any(old is not now for old, now in zip(given, new))
        if goes_there or any(map(PLACES.knows, tree_leaves(given))):
            return called(function, words, names, goes_there)
        return function(*words, **names)


def called(function, args, kwargs, goes_there):
    """The result of a function that has to do with the GPU, where it belongs."""
    if not goes_there and comes_back(function, args, kwargs):
        return moved(function(*args, **kwargs), args[0], there=False)
    with PLACES.drawing():
        result = function(*args, **kwargs)
    if function is torch.Tensor.to:
        return moved(result, args[0], there=True)
    if not args or result is not args[0]:  # what is written to stays where it is
        PLACES.note(result)
    return result


def comes_back(function, args, kwargs):
    """Whether the function brings a tensor from the GPU."""
    if function is torch.Tensor.to:
        return any(isinstance(value, (str, torch.device)) for value in [*args, *kwargs.values()])
    return function is torch.Tensor.cpu


def moved(result, tensor, there):
    """The result of moving a tensor, which is a copy if it was elsewhere."""
    if result is tensor and PLACES.knows(tensor) is not there:
        result = tensor.clone()
    if there:
        PLACES.note(result)
    return result


def module_on_gpu(module, device=None):
    """Parameters stay the objects that they are."""
    PLACES.note([*module.parameters(), *module.buffers()])
    return module


class Event:
    """Of a device that has done everything that it was asked to."""

    def __init__(self, *args, **kwargs):
        pass

    def record(self, *args):
        pass

    wait = synchronize = record

    def query(self):
        return True

    def elapsed_time(self, other):
        return 1.0


class Stream(Event):
    device, cuda_stream, stream_id = CPU, 0, 0

    def wait_stream(self, *args):
        pass

    wait_event = wait_stream

    def record_event(self, event=None):
        return event or Event()


class Generators:
    """That of the GPU, by whatever a device is called."""

    def __getitem__(self, device):
        return PLACES.generator


def silent():
    """A function that does nothing; Dynamo wants each name of torch.cuda to have its own."""
    return lambda *args, **kwargs: None


def answers():
    """What the names of torch.cuda answer."""
    stream = Stream()
    properties = SimpleNamespace(
        name="CPU", major=8, minor=0, total_memory=1 << 34, multi_processor_count=1, uuid="", gcnArchName=""
    )
    quiet = (
        "synchronize",
        "set_device",
        "empty_cache",
        "set_stream",
        "init",
        "_lazy_init",
        "check_error",
        "reset_peak_memory_stats",
    )
    return {
        **{name: silent() for name in quiet},
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_current_stream_capturing": lambda: False,
        "is_bf16_supported": lambda *args, **kwargs: True,
        "device_count": lambda: 4,
        "current_device": lambda: GPU,
        "current_stream": lambda *args, **kwargs: stream,
        "default_stream": lambda *args, **kwargs: stream,
        "stream": lambda stream: contextlib.nullcontext(),
        "device": lambda device: contextlib.nullcontext(),
        "Stream": Stream,
        "Event": Event,
        "get_device_capability": lambda *args, **kwargs: (8, 0),
        "get_device_name": lambda *args, **kwargs: "CPU",
        "get_device_properties": lambda *args, **kwargs: properties,
        "memory_stats": lambda *args, **kwargs: {},
        "memory_allocated": lambda *args, **kwargs: 0,
        "memory_reserved": lambda *args, **kwargs: 0,
        "max_memory_allocated": lambda *args, **kwargs: 0,
        "max_memory_reserved": lambda *args, **kwargs: 0,
        "mem_get_info": lambda *args, **kwargs: (1 << 34, 1 << 34),
        "manual_seed": lambda seed: PLACES.generator.manual_seed(seed),
        "manual_seed_all": lambda seed: PLACES.generator.manual_seed(seed),
        "get_rng_state": lambda device=None: PLACES.generator.get_state(),
        "set_rng_state": lambda new_state, device=None: PLACES.generator.set_state(new_state),
        "default_generators": Generators(),
    }


def over_gloo(function):
    """A function of torch.distributed that makes a group: of gloo's, whatever the program asks for."""

    def made(*args, **kwargs):
        if args and isinstance(args[0], str):
            args = ("gloo", *args[1:])
        kwargs.pop("device_id", None)
        kwargs.pop("pg_options", None)
        return function(*args, **{**kwargs, **({"backend": "gloo"} if "backend" in kwargs else {})})

    return made


def prepare():
    """From here on, the program has a GPU that is the CPU."""
    for name, answer in answers().items():
        setattr(torch.cuda, name, answer)
        if hasattr(torch.cuda.random, name):  # it has some of them by a name of its own
            setattr(torch.cuda.random, name, answer)
    torch.cuda.nvtx = SimpleNamespace(
        range_push=silent(), range_pop=silent(), mark=silent(), range=lambda *args, **kwargs: contextlib.nullcontext()
    )
    cpp_extension.CUDA_HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda")
    torch.nn.Module.cuda = module_on_gpu
    dist.init_process_group = dist.distributed_c10d.init_process_group = over_gloo(dist.init_process_group)
    dist.new_group = dist.distributed_c10d.new_group = over_gloo(dist.new_group)


def prepare_honestly():
    """What torch.cpu lacks of the functions that each kind of device has."""
    for name, answer in answers().items():
        if not hasattr(torch.cpu, name):
            setattr(torch.cpu, name, answer)
    torch.cpu.current_device = lambda: 0  # a number, as each kind of device but the CPU says
    torch._utils._get_available_device_type = lambda: "cpu"


def run(words):
    """As `python WORDS`."""
    sys.argv = words[1:] if words[0] == "-m" else words
    if words[0] == "-m":
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, sys.argv[0].rpartition("/")[0])
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "--honest":
        prepare_honestly()
        run(sys.argv[2:])
    else:
        prepare()
        with OnTheCPU():
            run(sys.argv[1:])
