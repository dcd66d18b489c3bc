"""Collectives of torch.distributed by NCCL, each in all ranks of a group of processes.

The programs run in the ranks (`torch_battery.rank`); the checks here ask the ranks and put their answers together.
"""

from __future__ import annotations

from functools import partial

from torch_battery import collective_programs, devices_of_one_process, ranks
from torch_battery.check import TOLERANCES
from torch_battery.table import Program

GROUP = "collectives"
_QUICK = ("all_reduce", "broadcast")

TABLE = [
    *(
        Program(name, partial(ranks.run, name), "quick" if name in _QUICK else "standard", limit=150)
        for name in collective_programs.PROGRAMS
    ),
    *(
        Program(name, run, tolerance=TOLERANCES["float32"], devices=2)
        for name, run in devices_of_one_process.PROGRAMS.items()
    ),
]
