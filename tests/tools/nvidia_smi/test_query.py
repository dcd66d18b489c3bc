"""nvidia-smi as programs parse it, over a command that reports as mthreads-gmi does."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchada.tools.nvidia_smi.main import main

pytestmark = pytest.mark.once
Ask = Callable[..., tuple[int, str]]


def _device(index: int) -> dict[str, Any]:
    return {
        "Index": str(index),
        "Product Name": "MTT S5000",
        "GPU UUID": f"0000-{index}",
        "Serial Number": "N/A",
        "PCI": {"Bus": f"0x{index + 1:02X}", "Bus ID": f"00000000:0{index + 1}:0a.0"},
        "FB Memory Usage": {"Total": "81920MiB", "Used": f"{index}MiB", "Free": "81920MiB"},
        "Utilization": {"Gpu": f"{index + 30}%", "Memory": "2%"},
        "Temperature": {"GPU Current Temp": "41C"},
        "Power Readings": {"Power Draw ": "98.5W"},
    }


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Ask:
    """The exit status and the output; the devices' figures are those of `_device`."""
    report = {"Driver Version": "3.1.0", "Attached GPUs": "2", "GPU": [_device(0), _device(1)]}
    command = tmp_path / "mthreads-gmi"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nprint({json.dumps(report)!r} if '-q' in sys.argv else ' '.join(sys.argv[1:]))\n"
    )
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def call(*arguments: str) -> tuple[int, str]:
        capfd.readouterr()
        status = main(arguments)
        return status, capfd.readouterr().out

    return call


def test_csv_has_units_in_the_header_and_after_numbers(ask: Ask) -> None:
    status, text = ask("--query-gpu=index,name,memory.total,utilization.gpu,temperature.gpu,power.draw", "--format=csv")
    assert status == 0 and text.splitlines() == [
        "index, name, memory.total [MiB], utilization.gpu [%], temperature.gpu, power.draw [W]",
        "0, MTT S5000, 81920 MiB, 30 %, 41, 98.50 W",
        "1, MTT S5000, 81920 MiB, 31 %, 41, 98.50 W",
    ]


def test_without_header_and_units(ask: Ask) -> None:
    status, text = ask("--query-gpu=memory.used,memory.free", "--format=csv,noheader,nounits")
    assert (status, text) == (0, "0, 81920\n1, 81920\n")


def test_nounits_keeps_the_units_of_the_header(ask: Ask) -> None:
    assert ask("--query-gpu=memory.used", "--format=csv,nounits")[1].splitlines()[0] == "memory.used [MiB]"


def test_what_the_vendors_command_does_not_tell_is_not_available(ask: Ask) -> None:
    fields = "serial,fan.speed,power.limit,clocks.sm,compute_cap"
    assert ask(f"--query-gpu={fields}", "--format=csv,noheader", "-i", "1") == (0, ", ".join(["[N/A]"] * 5) + "\n")


@pytest.mark.parametrize("named", ["1", "0000-1", "00000000:02:0a.0"])
def test_one_device_by_any_of_its_names(ask: Ask, named: str) -> None:
    assert ask("--query-gpu=index", "--format=csv,noheader", f"--id={named}") == (0, "1\n")


def test_bus_addresses_driver_and_time_are_written_as_nvidia_smi_does(ask: Ask) -> None:
    answer = ask("--query-gpu=pci.bus_id,driver_version,count,timestamp", "--format=csv,noheader", "-i", "0")[1]
    bus, driver, count, time = answer.strip().split(", ")
    assert (bus, driver, count) == ("00000000:01:0A.0", "3.1.0", "2")
    assert re.fullmatch(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}", time)


def test_the_list_of_devices(ask: Ask) -> None:
    assert ask("-L")[1].splitlines()[1] == "GPU 1: MTT S5000 (UUID: 0000-1)"


def test_without_arguments_it_is_the_vendors_own_overview(ask: Ask) -> None:
    assert ask() == (0, "\n") and ask("-i", "1") == (0, "-i 1\n")


def test_what_is_wrong_is_said(ask: Ask) -> None:
    status, text = ask("--query-gpu=index,pace", "--format=csv")
    assert status == 2 and text.startswith('Field "pace" is not a valid field to query.')
    assert ask("--query-gpu=index")[0] == ask("--query-gpu=index", "--format=xml")[0] == 2
    assert ask("--query-gpu=index", "--format=csv", "-i", "7") == (9, "")


def test_without_the_vendors_command_it_fails_as_without_a_driver(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("TORCHADA_SIMULATE", raising=False)
    assert main(["-L"]) == 9 and "mthreads-gmi is not on the PATH" in capsys.readouterr().err
