"""Code that sees CUDA reads CUDA's names: in what public functions return, in errors, and in the texts of objects."""

from __future__ import annotations

import io
import os
import pickle
import traceback
import zipfile
from pathlib import Path

import pytest
import torch

from support.interpreter import Interpreter

pytestmark = [pytest.mark.musa, pytest.mark.usefixtures("of_cuda")]

PROGRAM = Path(__file__).parents[2] / "support" / "spoken_names.py"
OWN = "musa"
IS_NATIVE = os.environ.get("TORCHADA_NATIVE") != "0"
# Where the backend's name is said all the same, and why; each of these texts begins so or says so.
ALLOWED = {
    "__init__()": "Python says how a class is called that torch.cuda shows under another name",
    ".__new__() takes": "as above",
    "incompatible function arguments": "pybind11 shows how a function is called, and the arguments of the call",
    f"but got:{OWN}": "Python code of torch makes this text, as the next four, of a device that it was given",
    "invalid value of debug_mode": "as above",
    f"Process group {OWN}": "as above",
    "`url` must be a string": "as above",
    "field_names must be specified": "as above",
    "UnsupportedError: ": "torchada says what the backend lacks",
    "._musart.": "a class that is written in C++ says where it is from",
    "sim::": "a C++ type of the simulator",
    "functools.partial(": "the repr of Python's own object shows its keywords as they are",
    "ModuleCallEntry(": "the repr that a dataclass of torch has asks by torch itself",
}
XFORMERS = {"__name__": "xformers.ask", "torch": torch}  # a row gives it the view of the backend


OF_PYTHON = ("RuntimeError: ", "TypeError: ", "ValueError: ", "NotImplementedError: ")


def is_allowed(place: str, text: str) -> bool:
    # Functions of torch.accelerator are bound by pybind11, which makes the errors of some and does not ask torch.
    if any(word in text for word in ALLOWED) or place.startswith("torch.accelerator."):
        return True
    return not IS_NATIVE and (place.startswith("error: ") or text.startswith(OF_PYTHON))


@pytest.mark.full
def test_what_public_functions_and_errors_say_has_cudas_names(musa: Interpreter) -> None:
    said = musa.json(PROGRAM.read_text(), env={"PYTHONWARNINGS": "ignore"}, forked=True)
    left = {place: [text for text in texts if not is_allowed(place, text)] for place, texts in said.items()}
    assert not {place: texts for place, texts in left.items() if texts}


def refused_memory() -> BaseException:
    with pytest.raises(torch.OutOfMemoryError, match=r"^CUDA out of memory\. Tried to allocate") as caught:
        torch.empty(1 << 50, device="cuda")
    return caught.value


def asked_by_xformers(code: str, error: BaseException) -> object:
    return eval(code, {**XFORMERS, "error": error})


def test_an_error_of_torch_says_what_whoever_reads_it_sees() -> None:
    error = refused_memory()
    for text in (str(error), repr(error), error.args[0], "".join(traceback.format_exception(error))):
        assert "CUDA out of memory" in text and OWN not in text.lower()
    for code in ("str(error)", "repr(error)", "error.args[0]"):
        assert f"{OWN.upper()} out of memory" in str(asked_by_xformers(code, error))
    assert pickle.loads(pickle.dumps(error)).args == error.args


def test_the_arguments_of_an_error_can_be_changed() -> None:
    error = refused_memory()
    error.args = ("mine", 1)
    assert error.args == ("mine", 1) and str(error) == "('mine', 1)"


def test_an_error_that_ends_a_program_says_cuda(musa: Interpreter) -> None:
    code = "import torch\ntorch.empty(1 << 50, device='cuda')"
    assert "CUDA out of memory. Tried" in musa.run(code, check=False, forked=True).stderr


NATIVE = pytest.mark.skipif(not IS_NATIVE, reason="the portable mechanism leaves errors of Python's own classes alone")


def two_devices() -> torch.Tensor:
    return torch.ones(1, device="cuda") + torch.ones(1)


@NATIVE
def test_an_error_of_pythons_class_is_renamed_for_the_program_that_called_torch() -> None:
    with pytest.raises(RuntimeError, match=r"at least two devices, cuda:0 and cpu!"):
        two_devices()
    code = "def ask():\n try:\n  torch.ones(1, device='cuda') + torch.ones(1)\n except RuntimeError as error:\n  return str(error)"
    module = {**XFORMERS}
    exec(code, module)
    assert f"{OWN}:0 and cpu" in module["ask"]()  # type: ignore[operator]


@NATIVE
def test_torch_raises_its_own_texts_when_torchada_is_disabled(musa: Interpreter) -> None:
    code = """
    import torch, torchada
    tensor = torch.ones(1, device="cuda")
    def text():
        try:
            tensor + torch.ones(1)
        except RuntimeError as error:
            return str(error)
    first = text()
    torchada.disable()
    second = text()
    torchada.enable()
    print(*("cuda:0" in each for each in (first, second, text())))
    """
    assert musa.run(code, forked=True).stdout.split() == ["True", "False", "True"]


def test_pythons_own_classes_of_errors_are_left_alone() -> None:
    for kind in (BaseException, Exception, RuntimeError, NotImplementedError, TypeError, ValueError):
        assert type(vars(kind).get("__str__", object.__str__)).__name__ == "wrapper_descriptor"
        assert "args" not in vars(kind) or kind is BaseException
    with pytest.raises(RuntimeError, match="has no counterpart on MUSA"):
        torch.cuda.gds.gds_register_buffer(torch.ones(1).untyped_storage())


def test_streams_and_architectures_have_cudas_names() -> None:
    stream = torch.cuda.current_stream()
    assert repr(stream) == f"<torch.cuda.Stream device=cuda:0 cuda_stream={stream.cuda_stream:#x}>"
    assert str(torch.cuda.Event()) == "<torch.cuda.Event uninitialized>"
    assert all(name.startswith("sm_") for name in torch.cuda.get_arch_list())
    assert "device_type=cuda" in str(torch.accelerator.current_stream())


def test_kept_names_are_those_of_who_reads_them() -> None:
    scaler, autocast = torch.amp.GradScaler("cuda"), torch.autocast("cuda")
    assert scaler._device == autocast.device == torch._utils._get_available_device_type() == "cuda"
    assert asked_by_xformers("error._device", scaler) == OWN  # type: ignore[arg-type]
    of_one = torch.amp.GradScaler("cuda:0")
    assert (of_one._device, asked_by_xformers("error._device", of_one)) == ("cuda:0", f"{OWN}:0")  # type: ignore[arg-type]
    from torch.utils.checkpoint import DefaultDeviceType, _infer_device_type

    assert DefaultDeviceType.get_device_type() == _infer_device_type(torch.ones(1, device="cuda")) == "cuda"


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_the_type_of_a_storage_is_that_of_its_class() -> None:
    storage = torch.ones(2, device="cuda").storage()
    assert storage.type() == "torch.cuda.FloatStorage" and torch.cuda.FloatStorage.__module__ == "torch.cuda"
    assert "device=cuda:0" in repr(storage) and "device=cuda:0" in repr(storage.untyped())
    assert torch.cuda.FloatTensor.__module__ == "torch.cuda"


def test_the_code_of_a_graph_has_cudas_names_and_runs() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: x + torch.ones(2, device="cuda"))(torch.ones(2, device="cuda"))
    assert "device(type='cuda'" in graph.code and "cuda" in str(graph.graph)
    graph.recompile()
    assert graph(torch.ones(2, device="cuda")).tolist() == [2, 2]


GROUP = """
    import json, torch, torch.distributed as dist
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0])
    backend = dist.group.WORLD._get_backend(torch.device("cuda"))
    print(json.dumps([model.device_type, backend.name(), dist.get_backend(), repr(dist.BackendConfig("nccl"))]))
    dist.destroy_process_group()
"""


@pytest.mark.full
def test_groups_and_their_backends_have_cudas_names(musa: Interpreter) -> None:
    *names, config = musa.json(GROUP, forked=True)
    assert names == ["cuda", "nccl", "nccl"]
    assert OWN not in config


@pytest.mark.full
def test_a_file_of_an_exported_program_can_be_read_on_a_cuda_machine() -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 3, device="cuda")

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made: torch.Tensor = self.linear(x) + torch.ones(3, device=x.device) + torch.arange(3, device="cuda")
            return made

    module, x, file = Module(), torch.ones(1, 3, device="cuda"), io.BytesIO()
    torch.export.save(torch.export.export(module, (x,)), file)
    with zipfile.ZipFile(file) as archive:
        assert not [name for name in archive.namelist() if OWN.encode() in archive.read(name)]
        assert any(b'"cuda"' in archive.read(name) for name in archive.namelist())
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(x), module(x))
