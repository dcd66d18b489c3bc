"""How many executables of graphs a process keeps at a time."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from torchada.base import settings as _settings
from torchada.base.warnings import tell_once

if TYPE_CHECKING:
    from torchada.redirect.context import Context

# Below the driver's limit, because others (the profiler, libraries) make executables too: 1900 of 2048.
_SHARE = 1900 / 2048
_LEAST = 64
_MOST_TRIED = 4096
_SECONDS = 300
_PROBE = """
import torch, {adapter}
namespace = torch.{namespace}
x, graphs = torch.ones(8, device="{device}"), []
pool = namespace.graph_pool_handle()
x + 1
try:
    while len(graphs) < {most}:
        graph = getattr(namespace, "{graph}")()
        with namespace.graph(graph, pool=pool):
            x + 1
        graphs.append(graph)
except RuntimeError:
    pass
print("executables:", len(graphs), flush=True)
import os; os._exit(0)
"""


def executables_to_keep(context: Context) -> int:
    """TORCHADA_GRAPH_EXEC_CAP; what a trial in a process of its own has found, less a margin; or a share of the usual limit."""
    settings = context.settings
    if settings.graph_exec_cap:
        return settings.graph_exec_cap
    if settings.graph_autoprobe:
        limit = _tried(context)
        if limit:
            return max(_LEAST, limit - settings.graph_exec_margin)
        tell_once("TORCHADA_GRAPH_AUTOPROBE: the trial has found no limit, so the usual one counts")
    return max(1, int(_usual_limit(context) * _SHARE))


def _usual_limit(context: Context) -> int:
    graphs = context.backend.graphs
    simulated = (
        _settings.of_others(graphs.simulated_limit) if getattr(context.namespace, "__simulated__", False) else ""
    )
    return int(simulated) if simulated.isdigit() else graphs.executables or sys.maxsize


def _tried(context: Context) -> int | None:
    """Captures graphs in a process of its own until the driver refuses one, which leaves a process in a bad state."""
    backend = context.backend
    code = _PROBE.format(
        adapter=backend.adapter,
        namespace=backend.namespace,
        device=backend.device_type,
        graph=backend.names.own("CUDAGraph"),
        most=_MOST_TRIED,
    )
    from torchada.base.processes import NOT_FROM_HERE  # not needed by `import torch`

    try:
        env = _settings.environment_with({"TORCHADA_GRAPH_ROTATION": "0"})
        command = [sys.executable, "-c", NOT_FROM_HERE + code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, env=env)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"executables: (\d+)", done.stdout)
    return int(match[1]) if match else None
