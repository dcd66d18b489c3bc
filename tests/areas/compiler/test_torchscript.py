"""torch.jit.script and load, as far as they are Python: what TorchScript's own parser sees is shown in redirect/test_native.py."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter
from torchada.areas.compiler._archives import renamed

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated")


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_scripted_classes_see_what_surrounds_them() -> None:
    """TorchScript looks for names in the frame of its caller; a function around torch.jit.script would be that frame."""

    @torch.jit.script
    def increased(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @torch.jit.script
    class Pair:
        def __init__(self, x: torch.Tensor) -> None:
            self.x = x

        def both(self) -> torch.Tensor:
            return doubled(increased(self.x))

    @torch.jit.script
    def use(x: torch.Tensor) -> torch.Tensor:
        return Pair(x).both()

    assert use(torch.ones(2, device="cuda")).tolist() == [4, 4]


def test_scripted_classes_have_a_cuda_and_an_is_cuda_of_their_own() -> None:
    """As torch-sparse's storage of a sparse tensor has; what tensors have of these names is the device's."""

    @torch.jit.script
    class Storage:
        def __init__(self, x: torch.Tensor) -> None:
            self.x = x

        def cuda(self) -> torch.Tensor:
            return self.x.cuda() + 1

        def is_cuda(self) -> bool:
            return not self.x.is_cuda

    @torch.jit.script
    class Outer:
        def __init__(self, storage: Storage) -> None:
            self.storage = storage

        def cuda(self) -> torch.Tensor:
            return self.storage.cuda()

    @torch.jit.script
    def use(x: torch.Tensor) -> tuple[torch.Tensor, bool, bool, bool]:
        storage = Storage(x)
        outer = Outer(storage)
        moved = outer.cuda()
        return moved, moved.is_cuda, storage.is_cuda(), (x * 1).cuda().is_cuda

    moved, *flags = use(torch.ones(2))
    assert moved.tolist() == [2, 2] and moved.device.type == "musa"
    assert flags == [True, True, True]


@pytest.mark.parametrize(
    ("map_location", "expected"),
    [
        ("cuda", "musa:0"),
        ("cuda:1", "musa:1"),
        (torch.device("cuda:1"), "musa:1"),
        ("cpu", "cpu"),
        (None, "cpu"),
    ],
)
def test_jit_load_with_map_location(map_location: Any, expected: str) -> None:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), buffer)
    buffer.seek(0)
    loaded = torch.jit.load(buffer, map_location=map_location)
    assert {str(parameter.device) for parameter in loaded.parameters()} == {expected}
    assert loaded(torch.ones(1, 2).to(map_location or "cpu")).shape == (1, 2)


def test_a_traced_module_of_the_device_is_saved_and_loaded() -> None:
    traced = torch.jit.trace(torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda"))
    for map_location, expected in ((None, "musa:0"), ("cpu", "cpu"), ("cuda:1", "musa:1")):
        buffer = io.BytesIO()
        torch.jit.save(traced, buffer)
        buffer.seek(0)
        (device,) = {str(p.device) for p in torch.jit.load(buffer, map_location=map_location).parameters()}
        assert device == expected


class Placed(torch.nn.Module):
    """Devices in every place of an archive: tensors, an attribute, the code, and a text that is no device."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "musa"
        self.layers = torch.nn.Sequential(
            *[torch.nn.Linear(2, 2).to(place) for place in ("cuda:1", "cpu", "cuda", "cuda:1")]
        )
        self.device = torch.device("cuda:1")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(self.device) + torch.ones(2, device=torch.device("cuda:1"))


def test_save_here_read_on_another_machine(plain: Interpreter, tmp_path: Path) -> None:
    """The file names CUDA's devices, here too, where each tensor comes back to its own."""
    path = tmp_path / "model.pt"
    torch.jit.script(Placed()).save(str(path))
    devices = [str(parameter.device) for parameter in torch.jit.load(path).parameters()]
    assert devices == [place for place in ("musa:1", "cpu", "musa:0", "musa:1") for _ in range(2)]
    assert torch.jit.load(path)(torch.ones(2)).device == torch.device("cuda:1")
    code = f"""
    import torch, warnings, zipfile
    warnings.simplefilter("ignore")
    model = torch.jit.load({str(path)!r}, map_location="cpu")
    records = zipfile.ZipFile({str(path)!r})
    assert [b"musa" in records.read(name) for name in records.namelist() if "data.pkl" in name] == [True]
    assert model.name == "musa" and model.device == torch.device("cuda:1"), (model.name, model.device)
    assert 'torch.device("cuda:1")' in model.forward.code
    """
    plain.run(code)


def test_is_cuda_is_true_on_another_machine(plain: Interpreter, tmp_path: Path) -> None:
    """A tensor of a CUDA machine is faked there."""

    @torch.jit.script
    def is_on_the_device(x: torch.Tensor) -> bool:
        return x.is_cuda

    path = tmp_path / "function.pt"
    is_on_the_device.save(str(path))
    for question in (is_on_the_device, torch.jit.load(path)):
        assert question(torch.ones(1, device="cuda")) and not question(torch.ones(1))
    code = f"""
    import torch, warnings
    from torch._subclasses.fake_tensor import FakeTensorMode
    warnings.simplefilter("ignore")
    question = torch.jit.load({str(path)!r})
    with FakeTensorMode():
        assert question(torch.empty(1, device="cuda")) and not question(torch.empty(1))
    """
    plain.run(code)


def test_files_of_the_program_are_saved_as_they_are(tmp_path: Path) -> None:
    files: dict[str, Any] = {"settings.pkl": b"no pickle", "code.py": b'torch.device("musa:1")'}
    torch.jit.save(torch.jit.script(Placed()), tmp_path / "model.pt", _extra_files=files)
    read = dict.fromkeys(files, "")
    torch.jit.load(tmp_path / "model.pt", _extra_files=read)
    assert read == files


def test_a_folder_that_does_not_exist_is_torchs_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Parent directory .*nowhere does not exist"):
        torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "nowhere" / "model.pt"))


def test_an_archive_without_devices_is_not_copied() -> None:
    archive = torch.jit.script(torch.nn.Linear(2, 2)).save_to_buffer()
    assert renamed(archive, "musa", "cuda") is archive


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut short"])
def test_a_file_that_is_no_archive_is_torchs_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    path.write_bytes(content)
    for file in (path, io.BytesIO(content)):
        with pytest.raises(RuntimeError, match=r"(?i)reader"):
            torch.jit.load(file)
