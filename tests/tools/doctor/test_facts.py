"""What the doctor concludes from facts that no test machine has: vendor's versions, drivers, device nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchada.report.severity import OK
from torchada.tools.doctor import Facts, Result, examine, is_healthy
from torchada.tools.doctor import machine as machines
from torchada.tools.doctor.facts import Distribution, Machine, Node, Probe, StartupFile
from torchada.tools.doctor.version_pairs import PAIRS, begins, pair_of

pytestmark = pytest.mark.once

STATUS = {
    "active": True,
    "problems": [],
    "areas": [],
    "platform": {"name": "musa", "why": "torch_musa is installed"},
    "device_strings": {"mechanism": "native", "why": "checked in this process"},
    "environment": {"unknown": [], "not_understood": []},
    "startup": {"file": "/site/torchada-init.pth"},
}
# A machine with a device, all of whose parts belong together.
WHOLE = Facts(
    python="3.10.12",
    executable="/usr/bin/python3",
    prefix="/usr",
    torchada="0.2.0",
    distributions=tuple(
        Distribution(name, version, "/site")
        for name, version in zip(
            ("torch", "torch-musa", "torchada", "wrapt", "triton"), ("2.7.1", "2.7.1", "0.2.0", "2.0", "3.2"), strict=True
        )
    ),
    torch=Probe({"version": "2.7.1", "cuda": None, "hip": None, "transfer_to_npu": False, "cuda_devices": 0}),
    adapter=Probe({"installed": True, "simulated": False, "version": "2.7.1+1a2b3c4", "devices": ["MTT S5000"] * 8}),
    status=Probe(STATUS),
    machine=Machine(
        "3.3.4", "4.3.4", "/usr/local/musa", "/usr/local/musa/bin/mcc", "g++ 11", (Node("/dev/mtgpu.0", True, "video"),)
    ),
    startup=(StartupFile("/site/torchada-init.pth"),),
    variables={},
    cuda_libraries={},
    triton_backends=("mthreads", "nvidia"),
    folder_hides=(),
)  # fmt: skip


def problems(facts: Facts) -> dict[str, Result]:
    return {each.check: each for each in examine(facts) if each.severity in ("error", "warning")}


def with_versions(**versions: str) -> tuple[Distribution, ...]:
    given = {name.replace("_", "-"): version for name, version in versions.items()}
    return tuple(each._replace(version=given.get(each.name, each.version)) for each in WHOLE.distributions)


def adapter(**found: Any) -> Probe:
    return Probe({**WHOLE.adapter.answer, **found})


def test_a_whole_machine_is_healthy() -> None:
    results = examine(WHOLE)
    assert problems(WHOLE) == {} and is_healthy(results)
    assert {each.check for each in results if each.severity == OK} >= {
        "pair",
        "devices",
        "driver",
        "sdk",
        "nodes",
        "triton",
        "mechanism",
    }


def ill() -> Iterator[tuple[str, Facts, str, str]]:
    other = {"distributions": with_versions(torch="2.9.1"), "torch": Probe({**WHOLE.torch.answer, "version": "2.9.1"})}
    yield (
        "pair-torch",
        WHOLE._replace(**other),
        "torch_musa 2.7.1 belongs to torch 2.7.1, and 2.9.1",
        "the vendor's torch 2.7.1",
    )
    yield (
        "pair-sdk",
        WHOLE._replace(machine=WHOLE.machine._replace(sdk="5.1.0")),
        "for MUSA SDK 4.3, and 5.1.0",
        "MUSA SDK 4.3",
    )
    closed = WHOLE.machine._replace(nodes=(Node("/dev/mtgpu.0", False, "render"),))
    yield "nodes-closed", WHOLE._replace(machine=closed), "/dev/mtgpu.0", "usermod -aG render $USER"
    nobodys = WHOLE.machine._replace(nodes=(Node("/dev/mtgpu.0", False, "root"),))
    yield "nodes-closed", WHOLE._replace(machine=nobodys), "/dev/mtgpu.0", "udev"
    yield (
        "nodes-absent",
        WHOLE._replace(machine=WHOLE.machine._replace(nodes=())),
        "no /dev/mtgpu",
        "MTHREADS_VISIBLE_DEVICES=all",
    )
    yield "driver-absent", WHOLE._replace(machine=WHOLE.machine._replace(driver="")), "no driver", "install the driver"
    yield "compiler-absent", WHOLE._replace(machine=WHOLE.machine._replace(compiler="")), "mcc is missing", "MUSA_HOME"
    yield "sdk-absent", WHOLE._replace(machine=WHOLE.machine._replace(home="", sdk="")), "not found", "MUSA_HOME"
    yield (
        "triton-foreign",
        WHOLE._replace(triton_backends=("amd", "nvidia")),
        "it compiles for amd, nvidia",
        "pip uninstall triton",
    )
    two = (*WHOLE.distributions, Distribution("torch-npu", "2.7.1", "/site"))
    yield "two-adapters", WHOLE._replace(distributions=two), "Ascend", "keep the one"
    yield "devices-none", WHOLE._replace(adapter=adapter(devices=[])), "sees none", "mthreads-gmi"
    gone = WHOLE._replace(adapter=Probe({"installed": False}))
    yield "adapter-absent", gone, "has Moore Threads devices", "torch_musa/releases"
    yield "adapter-hangs", WHOLE._replace(adapter=Probe({}, "no answer within 60 seconds")), "no answer", "dmesg"
    without = tuple(each for each in WHOLE.distributions if each.name != "wrapt")
    yield "wrapt-absent", WHOLE._replace(distributions=without), "not installed", "pip install wrapt"
    twice = (*WHOLE.startup, StartupFile("/home/u/.local/site/torchada-init.pth"))
    yield "startup-twice", WHOLE._replace(startup=twice), "there are 2", "keep the one"
    failed = {**STATUS, "areas": [{"name": "precision.amp", "outcome": "failed", "reason": "TypeError"}]}
    yield (
        "area-failed",
        WHOLE._replace(status=Probe(failed)),
        "precision.amp failed: TypeError",
        "TORCHADA_SKIP_AREAS=precision.amp",
    )
    broken = WHOLE._replace(status=Probe({}, "RuntimeError: x"))
    yield "status-broken", broken, "RuntimeError: x", "torchada status --probe"
    yield (
        "torch-mixed",
        WHOLE._replace(distributions=with_versions(torch="2.7.0")),
        "metadata say 2.7.0",
        "torch==2.7.0",
    )
    copies = (*WHOLE.distributions, Distribution("torch", "2.13.0", "/other"))
    yield "torch-twice", WHOLE._replace(distributions=copies), "2.13.0 in /other", "PYTHONPATH"


@pytest.mark.parametrize(("name", "facts", "said", "cure"), list(ill()), ids=[case[0] for case in ill()])
def test_an_illness_is_named_with_its_cure(name: str, facts: Facts, said: str, cure: str) -> None:
    found = problems(facts)
    assert name in found and said in found[name].text and cure in found[name].cure
    assert found.keys() - {name} <= {"pair-torch"}


def test_a_check_that_fails_is_a_result_of_its_own() -> None:
    results = examine(WHOLE._replace(status=Probe({"active": True})))
    (broken,) = [each for each in results if each.check == "doctor"]
    assert "KeyError" in broken.text and len(results) > 8


@pytest.mark.parametrize(
    ("version", "first", "does"),
    [("2.7.1", "2.7", True), ("2.7.1+cpu", "2.7.1", True), ("2.70", "2.7", False), ("2.9.1.post1", "2.9.1", True),
     ("2", "2.7", False),
     ("2.9.0a0+git1", "2.9", True), ("", "2", False)],
)  # fmt: skip
def test_versions_are_compared_by_their_numbers(version: str, first: str, does: bool) -> None:
    assert begins(version, first) is does


def test_every_pair_has_its_source_and_is_found() -> None:
    assert [pair_of(f"{each.adapter}.0") for each in PAIRS] == list(PAIRS)
    assert all(each.source.startswith("https://github.com/MooreThreads/torch_musa") and each.torch for each in PAIRS)
    assert pair_of("3.0") is None


def test_a_host_compiler_may_have_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ccache"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("CXX", f"{program} g++ -m64")
    assert machines._host_compiler() == "g++ -m64 --version"
    monkeypatch.setenv("CXX", f"{tmp_path}/none -m64")
    assert machines._host_compiler() == ""


def test_device_nodes_are_judged_by_mode_owner_and_group(tmp_path: Path) -> None:
    folder = tmp_path / "dev" / "dri"
    folder.mkdir(parents=True)
    for path, mode in (
        (tmp_path / "dev" / "mtgpu.0", 0o660),
        (folder / "renderD128", 0o600),
        (tmp_path / "dev" / "mtgpu1", 0o666),
    ):
        path.touch()
        path.chmod(mode)
    group = os.stat(tmp_path / "dev" / "mtgpu.0").st_gid
    stranger = machines.nodes(str(tmp_path), user=12345, groups=[])
    assert {Path(each.path).name: each.usable for each in stranger} == {
        "mtgpu.0": False,
        "renderD128": False,
        "mtgpu1": True,
    }
    member = machines.nodes(str(tmp_path), user=12345, groups=[group])  # what usermod does
    assert {Path(each.path).name: each.usable for each in member} == {
        "mtgpu.0": True,
        "renderD128": False,
        "mtgpu1": True,
    }
    assert all(each.usable for each in machines.nodes(str(tmp_path), user=os.stat(folder).st_uid, groups=[]))


def test_render_nodes_alone_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / "dev" / "dri").mkdir(parents=True)
    (tmp_path / "dev" / "dri" / "renderD128").touch()
    assert machines.nodes(str(tmp_path)) == []


@pytest.mark.parametrize(
    ("files", "sdk"),
    [
        ({"version.json": '{"musa_toolkits": {"version": "4.3.4"}}'}, "4.3.4"),
        ({"version.json": "{", "include/musa.h": "#define MUSA_VERSION 50100\n"}, "5.1.0"),
        ({"include/musa.h": "nothing"}, ""),
        ({}, ""),
    ],
)
def test_the_sdk_is_read_from_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], sdk: str
) -> None:
    for name in ("MUSA_HOME", "MUSA_PATH"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "usr" / "local" / "musa"
    (home / "include").mkdir(parents=True)
    for name, text in files.items():
        (home / name).write_text(text)
    (tmp_path / "sys" / "module" / "mtgpu").mkdir(parents=True)
    (tmp_path / "sys" / "module" / "mtgpu" / "version").write_text("3.3.4-server\n")
    found = machines.look(str(tmp_path))
    assert (found.sdk, found.home, found.driver, found.compiler) == (sdk, str(home), "3.3.4-server", "")


def test_a_program_that_others_may_write_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool, sign = tmp_path / "mthreads-gmi", tmp_path / "was-run"
    tool.write_text(f"#!/bin/sh\ntouch {sign}\necho Driver Version: 1.2.3\n")
    tool.chmod(0o757)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert machines._said(["mthreads-gmi"], r"Driver Version:\s*(\S+)") == "" and not sign.exists()
    tool.chmod(0o755)
    tmp_path.chmod(0o755)
    assert machines._said(["mthreads-gmi"], r"Driver Version:\s*(\S+)") == "1.2.3"
