"""How programs of other people's libraries are started: on the simulator, by both mechanisms and both ways, and on the host."""

from __future__ import annotations

import pytest

# None needs a variable of the user. Recording calls, which shows what is not supported, uses the portable mechanism.
SIMULATED = {
    "portable": {"TORCHADA_NATIVE": "0", "TORCHADA_LOG": "summary"},
    "native": {"TORCHADA_NATIVE": "1"},
    "torchada run": {},
}
HOST = "torchada run --on cpu"
# Programs that run on the host as they do on the simulator.
on_the_host_too = pytest.mark.parametrize("begin", [*SIMULATED, HOST], indirect=True)
