"""What runs in the process of the tasks: it says which there are and what it runs on, and then acts on the names that it reads.

Each line of its output is one JSON object. The first is the greeting; the others answer one line of input each.
"""

from __future__ import annotations

import faulthandler
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any

Answer = dict[str, Any]


def serve(tasks: Callable[[], Sequence[Answer]], act: Callable[[str], Answer]) -> None:
    """Greet with `tasks()`, each of which has a "name", and answer each name with what `act` returns, until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not be taken for an answer
    faulthandler.enable()
    answers.write(json.dumps({"tasks": tasks(), **surroundings()}) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(act(line.strip())) + "\n")


def surroundings() -> Answer:
    """The device, the versions and the settings of this process. Imports torch."""
    import torch_battery.device
    from torchada.control import status

    device, problem = None, None
    try:
        device = torch_battery.device.describe()
    except Exception as error:
        problem = f"the device cannot be asked: {type(error).__name__}: {error}"
    report = status.report()
    return {
        "device": device,
        "problem": problem or (None if device else _no_device(report["platform"])),
        "platform": {"name": report["platform"]["name"], "why": report["platform"]["why"]},
        "simulated": any("(simulated)" in (version or "") for version in report["versions"].values()),
        "versions": {name: version for name, version in report["versions"].items() if version},
        "environment": report["environment"]["in_force"],
        "system": platform.platform(),
    }


def _no_device(chosen: Answer) -> str:
    return f"there is no device: torch.cuda.is_available() is False (platform {chosen['name']}: {chosen['why']})"
