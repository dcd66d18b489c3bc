"""The native mechanism is used where it works, and any doubt means the portable one, with the reason in status."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import torchada
from support.interpreter import Interpreter
from torchada.control.status import report
from torchada.redirect import native

if os.environ.get("TORCHADA_NATIVE") == "1":
    from torchada.redirect.native import _device_parser  # the mechanism is asked for, so a missing module is an error
else:
    _device_parser = pytest.importorskip(
        "torchada.redirect.native._device_parser", reason="built without a compiler, so there is no native mechanism"
    )


@pytest.mark.musa
def test_this_process_uses_the_mechanism_that_was_asked_for() -> None:
    assert torch.zeros(1, device="cuda").is_cuda
    expected = "portable" if os.environ.get("TORCHADA_NATIVE") == "0" else "native"
    assert report()["device_strings"]["mechanism"] == expected


class Parser:
    """The native module with one fault."""

    def __init__(self, **faults: Any) -> None:
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        return self._faults.get(name) or getattr(_device_parser, name)


def _raise(error: Exception) -> Any:
    def function(*args: object) -> None:
        raise error

    return function


def _choose(monkeypatch: pytest.MonkeyPatch, parser: Any, **options: Any) -> native.Mechanism:
    monkeypatch.setattr(native, "_module", lambda: parser)
    settings = {"wanted": "auto", "torch": torch, "device_type": "meta", "late": False, **options}
    return native.choose(**settings)


@pytest.fixture
def unarmed() -> Iterator[pytest.MonkeyPatch]:
    """Redirection is switched off within the test."""
    with torchada.disabled(), pytest.MonkeyPatch.context() as patch:
        yield patch
        assert not _device_parser.is_armed()
        assert torch.device("cuda").type == "cuda"


def test_the_self_check_passes_and_leaves_nothing_armed(unarmed: pytest.MonkeyPatch) -> None:
    assert _choose(unarmed, _device_parser) == native.Mechanism(True, "checked in this process")


ODD = (
    "cuda:00",
    "cuda:01",
    "cuda:007",
    "cuda:128",
    "cuda:129",
    "cuda:999",
    "cuda:1234",
    "cuda:",
    "cuda:x",
    "cuda:-1",
    "cuda: 1",
)


def _parsed(name: str) -> str:
    try:
        return str(torch.device(name))
    except RuntimeError as error:
        return str(error).splitlines()[0]


@pytest.mark.skipif(os.environ.get("TORCHADA_NATIVE") == "0", reason="this concerns the native mechanism")
def test_a_device_is_the_same_however_often_it_is_named(unarmed: pytest.MonkeyPatch) -> None:
    """A name that was parsed before is not parsed again, and what torch refuses, it refuses again."""
    names = ["cuda", *(f"cuda:{index}" for index in range(128)), *ODD]
    # What torch refuses is named in its error as the program wrote it.
    renamed = [name for name in names if _parsed(name).startswith("cuda")]
    expected = [_parsed(name.replace("cuda", "musa") if name in renamed else name) for name in names]
    for _ in range(2):
        _device_parser.arm("musa")
        for _ in range(3):
            assert [_parsed(name) for name in names] == expected
        _device_parser.disarm()
        assert torch.device("cuda:5").type == "cuda"


def test_choose_uses_the_portable_mechanism_where_native_is_switched_off(unarmed: pytest.MonkeyPatch) -> None:
    assert _choose(unarmed, _device_parser, wanted="0") == native.Mechanism(False, "TORCHADA_NATIVE=0")


def test_choose_uses_the_portable_mechanism_for_a_late_hook(unarmed: pytest.MonkeyPatch) -> None:
    found = _choose(unarmed, _device_parser, late=True)
    assert not found.native and "imported before" in found.why


def test_choose_uses_the_portable_mechanism_where_memory_stays_read_only(unarmed: pytest.MonkeyPatch) -> None:
    found = _choose(unarmed, Parser(arm=_raise(PermissionError(13, "Permission denied"))))
    assert not found.native and "Permission denied" in found.why


def test_choose_uses_the_portable_mechanism_where_no_library_calls_the_parser(unarmed: pytest.MonkeyPatch) -> None:
    found = _choose(unarmed, Parser(arm=_raise(RuntimeError("no loaded library calls it"))))
    assert not found.native and "no loaded library" in found.why


def test_choose_uses_the_portable_mechanism_where_arming_has_no_effect(unarmed: pytest.MonkeyPatch) -> None:
    found = _choose(unarmed, Parser(arm=lambda device_type: 2))
    assert not found.native and "self-check" in found.why


def test_choose_uses_the_portable_mechanism_where_arming_gives_another_device(unarmed: pytest.MonkeyPatch) -> None:
    found = _choose(unarmed, Parser(arm=lambda device_type: _device_parser.arm("cpu")))
    assert not found.native and "self-check" in found.why


def test_choose_uses_the_portable_mechanism_where_a_cuda_device_is_usable(unarmed: pytest.MonkeyPatch) -> None:
    unarmed.setattr(torch.version, "cuda", "12.6")
    unarmed.setattr(torch.cuda, "device_count", lambda: 1)
    found = _choose(unarmed, _device_parser)
    assert not found.native and "CUDA device" in found.why


def test_a_name_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than"):
        _device_parser.arm("x" * 40)


@pytest.mark.full
@pytest.mark.musa
@pytest.mark.parametrize(("value", "mechanism"), [("0", "portable"), ("1", "native"), (None, "native")])
def test_status_shows_the_mechanism(musa: Interpreter, value: str | None, mechanism: str) -> None:
    musa.env.pop("TORCHADA_NATIVE", None)
    env = {} if value is None else {"TORCHADA_NATIVE": value}
    found = json.loads(musa.run(["-m", "torchada.hooks", "status", "--probe", "--json"], env=env).stdout)
    assert found["device_strings"]["mechanism"] == mechanism
    assert found["device_strings"]["why"]


@pytest.mark.full
@pytest.mark.musa
def test_the_portable_mechanism_is_used_without_the_extension(musa: Interpreter) -> None:
    musa.env.pop("TORCHADA_NATIVE", None)
    code = """
    import sys
    sys.modules["torchada.redirect.native._device_parser"] = None     # as where there was no compiler
    import torch
    from torchada.control.status import report
    found = report()["device_strings"]
    assert found["mechanism"] == "portable" and "no C compiler?" in found["why"], found
    assert torch.zeros(1, device="cuda").is_cuda
    """
    musa.run(code)


def test_one_binary_serves_every_python(tmp_path: Path) -> None:
    """The stable ABI of Python 3.10: the same file is imported, armed or refused, by whichever interpreters there are."""
    code = f"""
    import sys
    from importlib import machinery, util
    if ".abi3.so" in machinery.EXTENSION_SUFFIXES:      # free-threaded ones do not take it
        loader = machinery.ExtensionFileLoader("_device_parser", {_device_parser.__file__!r})
        parser = util.module_from_spec(util.spec_from_loader("_device_parser", loader))
        try:
            parser.arm("musa")
        except RuntimeError as error:
            assert "no loaded library defines it" in str(error), error
        else:
            raise AssertionError("armed without torch")
        assert not parser.is_armed() and parser.disarm() is None and not parser.is_armed()
    print(sys.version_info[:2])
    """
    found = {sys.executable, *filter(None, (shutil.which(f"python3.{minor}") for minor in range(10, 20)))}
    pyenv = Path.home() / ".pyenv" / "versions"
    found |= {str(path) for path in pyenv.glob("3.1?.*/bin/python")}
    for executable in sorted(found):
        done = Interpreter(executable, cwd=tmp_path).run(["-I", "-S", "-c", textwrap.dedent(code)], check=False)
        # A shim of pyenv for a version that is not chosen does not work as an interpreter.
        assert done.returncode == 0 or "command not found" in done.stderr, (executable, done.stderr)


@pytest.mark.full
@pytest.mark.musa
def test_a_process_that_forbids_mprotect_uses_the_portable_mechanism(musa: Interpreter) -> None:
    """A filter refuses every mprotect; it is installed after the simulator's own use of it."""
    musa.env.pop("TORCHADA_NATIVE", None)
    code = """
    import torchada.redirect.native._device_parser as parser, ctypes, struct, os, platform
    import torchada; torchada.disable()
    import musasim; musasim.install()
    import torch, torch_musa
    torch.zeros(1, device="musa")
    number = {"x86_64": 10, "aarch64": 226}[platform.machine()]
    # seccomp: load the system call's number; mprotect gives EACCES, anything else goes on.
    program = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 0x06, 0, 0, 0x00050000 | 13, 0x06, 0, 0, 0x7FFF0000)
    buffer = ctypes.create_string_buffer(program, len(program))
    filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)), 16)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(filter)):
        print("no seccomp here"); raise SystemExit
    from torchada.redirect import native
    print(native.choose("1", torch, "musa", late=False))
    """
    out = musa.run(code).stdout
    if "no seccomp here" in out:
        pytest.skip("this kernel lets no process filter its own system calls")
    assert "native=False" in out and "Permission denied" in out


@pytest.mark.full
@pytest.mark.musa
def test_a_process_with_mdwe_uses_whichever_mechanism_works(musa: Interpreter) -> None:
    """PR_SET_MDWE, systemd's MemoryDenyWriteExecute. In torch 2.13 the symbol table shares a segment with code, not in 2.7."""
    musa.env.pop("TORCHADA_NATIVE", None)
    code = """
    import ctypes
    if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):
        print("no MDWE here"); raise SystemExit
    import torch
    from torchada.control.status import report
    assert torch.zeros(2, device="cuda:1").device == torch.device("musa:1")
    print(report()["device_strings"])
    """
    out = musa.run(code).stdout
    if "no MDWE here" in out:
        pytest.skip("this kernel has no PR_SET_MDWE")
    assert "'native'" in out or ("portable" in out and "libc10.so cannot be written to: Permission denied" in out)


@pytest.mark.musa
@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated")
@pytest.mark.skipif(
    os.environ.get("TORCHADA_NATIVE") == "0", reason="TorchScript's own parser is reached by the native mechanism only"
)
def test_torchscript_translates_string_constants() -> None:
    @torch.jit.script
    def moved(x: torch.Tensor) -> torch.Tensor:
        return x.to("cuda") + torch.ones(2, device="cuda:0")

    assert _device_parser.is_armed()
    assert moved(torch.ones(2)).tolist() == [2, 2]
