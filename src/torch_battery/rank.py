"""`python -m torch_battery.rank RANK WORLD FILE`: one rank of the group in which collectives are checked.

It reads the name of a program on each line of its input, and answers with one line of JSON: what is
wrong, or null, and whether the group can be used any more.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from typing import TextIO

import torch
import torch.distributed as dist

from torch_battery.check import Wrong
from torch_battery.collective_programs import PROGRAMS


def main(rank: int, world: int, file: str) -> None:
    """Join the group, and answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not be taken for an answer
    torch.cuda.set_device(rank % torch.cuda.device_count())
    wait = datetime.timedelta(seconds=60)
    try:
        dist.init_process_group("nccl", init_method=f"file://{file}", rank=rank, world_size=world, timeout=wait)
        dist.all_reduce(torch.ones(1, device="cuda"))
        torch.cuda.synchronize()
    except Exception as error:
        _answer(answers, f"the group cannot be made: {_text(error)}", False)
        return
    _answer(answers, None, True)
    for line in sys.stdin:
        _answer(answers, *_tried(line.strip(), rank, world))
    dist.destroy_process_group()


def _tried(name: str, rank: int, world: int) -> tuple[str | None, bool]:
    """What is wrong, and whether the group can be used afterwards: the ranks stay in step if only a number is wrong."""
    try:
        PROGRAMS[name](rank, world)
        torch.cuda.synchronize()
    except Wrong as wrong:
        return str(wrong), True
    except Exception as error:
        return _text(error), False
    return None, True


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _answer(answers: TextIO, problem: str | None, is_usable: bool) -> None:
    answers.write(json.dumps({"problem": problem, "is_usable": is_usable}) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
