"""The native mechanism and C++ libraries of all kinds: loaded before or after it is armed, in every way, bound early or late."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import torch

from support.interpreter import STAND_INS, Interpreter

TORCH = Path(torch.__file__).resolve().parent

pytestmark = [
    pytest.mark.musa,
    pytest.mark.skipif(os.environ.get("TORCHADA_NATIVE") == "0", reason="C++ is reached by the native mechanism only"),
]


def compile_library(source: str, target: Path, *options: str) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    include = [f"-I{TORCH / 'include'}", f"-I{sysconfig.get_path('include')}"]
    command = ["g++", "-std=c++20", "-fPIC", *include, str(STAND_INS / source), "-o", str(target), *options]
    subprocess.run(command, check=True)
    return target


# The linker's two ways of binding, and a library without exports: its hash table is empty, so its symbols cannot be counted there.
LINKED = {
    "lazy": ["-Wl,-z,lazy", "-Wl,-z,norelro"],
    "now": ["-Wl,-z,now", "-Wl,-z,relro"],
    "sysv": ["-Wl,--hash-style=sysv", "-Wl,-z,lazy", "-Wl,-z,relro"],
}


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with several copies of the library in each variant, because a path that has been loaded is not loaded again."""
    folder = tmp_path_factory.mktemp("callers")
    made = compile_library("device_caller.cpp", folder / "device_caller.o", "-c")
    to_torch = ["-L", str(TORCH / "lib"), "-lc10"]
    for name, options in LINKED.items():
        library = folder / f"{name}.so"
        subprocess.run(["g++", "-shared", str(made), "-o", str(library), *to_torch, *options], check=True)
        for use in ("before", "after", "operators", "module", "unloaded"):
            shutil.copy(library, folder / f"{use}_{name}.so")
    (folder / "nothing.map").write_text("{ local: *; };")
    hidden = ["-shared", "-DEXPORTS_NOTHING", f"-Wl,--version-script={folder / 'nothing.map'}", *to_torch]
    for use in ("before", "after"):
        compile_library("device_caller.cpp", folder / f"{use}_hidden.so", *hidden)
    return folder


# Shared by the programs below: each way of loading returns a function from a device string to the library's reading of it.
LOADERS = """
import ctypes, os, sys, importlib.util, pathlib, torch
from torchada.redirect.native import _device_parser as parser
folder = pathlib.Path(sys.argv[1])

def calls(function):
    def parse(name):
        answer = ctypes.create_string_buffer(128)
        function(name.encode(), answer)
        return answer.value.decode()
    return parse

def by_ctypes(path):
    return calls(ctypes.CDLL(str(path)).parse)

def by_torch(path):
    torch.ops.load_library(str(path))
    return by_ctypes(path)

def as_module(path):
    spec = importlib.util.spec_from_file_location("device_caller", path)
    module = importlib.util.module_from_spec(spec)
    return lambda name: module.parse(name.encode())

def from_c(variable):
    ctypes.pythonapi.getenv.restype = ctypes.c_char_p       # os.environ is a copy of the start
    return ctypes.pythonapi.getenv(variable.encode()).decode()

def by_its_constructor(path):
    ctypes.CDLL(str(path))
    return calls(ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(int(from_c("PARSE_ADDRESS"))))

def protections():
    # Of every page of libc10 and of our libraries.
    found = {}
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        if "libc10" in line or str(folder) in line:
            start, end = (int(address, 16) for address in line.split()[0].split("-"))
            found.update(dict.fromkeys(range(start, end, 4096), line.split()[1]))
    return found
"""


def run(musa: Interpreter, code: str, *arguments: str, **env: str) -> str:
    program = LOADERS + "\n" + code
    return musa.run(["-c", program, *arguments], env={"TORCHADA_NATIVE": "1", **env}).stdout


@pytest.mark.full
def test_every_library_follows_arming_and_disarming(musa: Interpreter, callers: Path) -> None:
    run(
        musa,
        """
def all_say(type):
    for name, parse in parsers.items():
        assert parse("cuda:1") == f"{type}:1" and parse("cuda") == type and parse("cpu") == "cpu", (name, parse("cuda:1"))
        assert parse("cuda:x") == "Invalid device string: 'cuda:x'", parse("cuda:x")

parser.disarm()
parsers = {}
for kind in ("lazy", "now", "sysv"):
    parsers["before", kind] = by_ctypes(folder / f"before_{kind}.so")
    if kind == "now":
        assert parsers["before", kind]("cuda") == "cuda"    # the other one's slot is not filled in before it is armed
parsers["before", "hidden"] = by_its_constructor(folder / "before_hidden.so")
assert from_c("PARSED_ON_LOADING") == "cuda:1"
before = protections()
parser.arm("musa")
assert protections() == before
all_say("musa")

for kind in ("lazy", "now", "sysv"):
    parsers["ctypes", kind] = by_ctypes(folder / f"after_{kind}.so")
    parsers["torch.ops.load_library", kind] = by_torch(folder / f"operators_{kind}.so")
    parsers["module", kind] = as_module(folder / f"module_{kind}.so")
parsers["after", "hidden"] = by_its_constructor(folder / "after_hidden.so")
assert from_c("PARSED_ON_LOADING") == "musa:1"
all_say("musa")

before = protections()
for type in ("cuda", "musa", "cuda", "musa"):
    if type == "musa":
        assert parser.arm("musa") >= len(parsers)
    else:
        parser.disarm()
    all_say(type)
    assert torch.device("cuda:1").type == type and parser.is_armed() == (type == "musa")
    assert protections() == before
        """,
        str(callers),
    )


@pytest.mark.full
def test_memory_of_an_unloaded_library_is_not_written_to(musa: Interpreter, callers: Path) -> None:
    """The library's memory is reused for something else, which must not be written to."""
    run(
        musa,
        """
import _ctypes, mmap
for kind in ("lazy", "now"):
    library = ctypes.CDLL(str(folder / f"unloaded_{kind}.so"))
    assert calls(library.parse)("cuda") == "musa"
    lines = [line for line in open("/proc/self/maps") if "unloaded_" + kind in line]
    start, end = int(lines[0].split("-")[0], 16), int(lines[-1].split("-")[1].split()[0], 16)
    _ctypes.dlclose(library._handle)
    assert "unloaded_" + kind not in open("/proc/self/maps").read()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    placed = libc.mmap(start, end - start, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10, -1, 0)
    assert placed == start                          # any access faults
    for _ in range(3):
        parser.disarm()
        assert torch.device("cuda").type == "cuda"
        parser.arm("musa")
        assert torch.device("cuda").type == "musa"
        """,
        str(callers),
    )


STRESS = """
import threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)     # of a fork with threads, which is the point
rounds, library = int(sys.argv[2]), ctypes.CDLL(str(folder / "before_lazy.so"))
library.misread.restype = ctypes.c_long
stop, faults, counts = ctypes.c_int(0), [], [ctypes.c_long(0) for _ in range(2)]

def in_c(count):                # ctypes calls it without the GIL, so it runs while slots are written
    faults.extend(["misread"] * library.misread(ctypes.byref(stop), ctypes.byref(count)))

def in_python():
    while not stop.value:
        device = torch.device("cuda:1")
        if device.type not in ("cuda", "musa") or torch.ones(2, device="musa:1").device.type != "musa":
            faults.append(device)

def loading():
    import _ctypes
    while not stop.value:
        loaded = ctypes.CDLL(str(folder / "unloaded_now.so"))
        if calls(loaded.parse)("cuda:1") not in ("cuda:1", "musa:1"):
            faults.append("late library")
        _ctypes.dlclose(loaded._handle)

def child():
    ok = parser.is_armed() and torch.device("cuda").type == "musa"
    parser.disarm()
    ok = ok and torch.device("cuda").type == "cuda"
    parser.arm("musa")
    os._exit(0 if ok and calls(library.parse)("cuda") == "musa" else 1)

threads = [threading.Thread(target=in_c, args=(count,)) for count in counts]
threads += [threading.Thread(target=target) for target in (in_python, in_python, loading)]
[thread.start() for thread in threads]
for number in range(rounds):
    parser.disarm()
    assert torch.device("cuda:1").type == "cuda" and calls(library.parse)("cuda:1") == "cuda:1"
    parser.arm("musa")
    assert torch.device("cuda:1").type == "musa" and calls(library.parse)("cuda:1") == "musa:1"
    if number % 100 == 0:
        process = os.fork() or child()
        assert os.waitpid(process, 0)[1] == 0
stop.value = 1
[thread.join(60) for thread in threads]
assert not faults and not any(thread.is_alive() for thread in threads), faults[:3]
assert min(count.value for count in counts) > rounds, counts
print(counts)
"""


@pytest.mark.full
@pytest.mark.parametrize("rounds", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_arming_and_disarming_work_under_threads_and_forks(musa: Interpreter, callers: Path, rounds: int) -> None:
    musa.run(["-c", LOADERS + STRESS, str(callers), str(rounds)], env={"TORCHADA_NATIVE": "1"}, timeout=500)


@pytest.mark.full
def test_an_interposed_constructor_means_the_portable_mechanism(musa: Interpreter, tmp_path: Path) -> None:
    """torchada cannot know which of the two definitions is meant."""
    library = compile_library("device_interposer.cpp", tmp_path / "interposer.so", "-shared")
    musa.env.pop("TORCHADA_NATIVE", None)
    done = musa.run(
        """
        import torch
        from torchada.control.status import report
        assert torch.zeros(2, device="cuda:1").device == torch.device("musa:1")
        print(report()["device_strings"])
        """,
        env={"LD_PRELOAD": str(library)},
    )
    assert "'portable'" in done.stdout and "both" in done.stdout and "interposer.so" in done.stdout


def test_devices_of_another_layout_are_parsed_each_time(musa: Interpreter, tmp_path: Path) -> None:
    """The native mechanism remembers devices of two bytes; larger ones are made each time."""
    compile_library("wide_device.cpp", tmp_path / "libc10.so", "-shared")
    musa.run(
        """
        import ctypes, sys
        from torchada.redirect.native import _device_parser as parser

        class Device(ctypes.Structure):
            _fields_ = [("type", ctypes.c_int8), ("index", ctypes.c_int8), ("made", ctypes.c_int)]

        library = ctypes.CDLL("./libc10.so")
        def parse(name):
            device = Device()
            library.parse(name, ctypes.byref(device))
            return device.type, device.index, device.made

        assert parse(b"cuda:3") == (1, 3, 1)
        parser.arm("musa")
        seen = [parse(name) for name in (b"cuda:3", b"cuda:3", b"cuda", b"cuda", b"cpu")]
        assert [device[:2] for device in seen] == [(20, 3), (20, 3), (20, -1), (20, -1), (20, -1)]
        assert len({made for *_, made in seen}) == 5, seen      # each is what the constructor has made for it
        parser.disarm()
        assert parse(b"cuda:3")[:2] == (1, 3) and "torch" not in sys.modules
        """,
        env={"TORCHADA_NATIVE": "1"},
    )


EXTENSION = """
#include <torch/extension.h>

at::Tensor made(const std::string& device) {
  return at::ones({2}, at::TensorOptions().device(device)) + at::ones({2}, at::TensorOptions().device("cuda:0")).to(device);
}

TORCH_LIBRARY(late_library, m) {
  m.def("made(str device) -> Tensor", &made);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("made", &made);
}
"""


@pytest.mark.slow
def test_an_extension_built_by_torch_gets_the_device(musa: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "extension.cpp").write_text(EXTENSION)
    musa.run(
        """
        import torch, torch.utils.cpp_extension
        module = torch.utils.cpp_extension.load("late_extension", ["extension.cpp"], build_directory=".")
        for made in (module.made, torch.ops.late_library.made):
            assert made("cuda").device == torch.device("musa:0") and made("cuda:1").tolist() == [2, 2]
        """,
        env={"TORCHADA_NATIVE": "1"},
        timeout=500,
    )
