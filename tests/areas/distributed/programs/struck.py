"""`struck.py SIGNAL STEP program.py arguments...`: runs a program, and sends its rank 1 a signal at a step of its optimizer,
once: when torchrun starts it again, it is left alone."""

import os
import runpy
import signal
import sys
from itertools import count

from torch.optim.optimizer import register_optimizer_step_post_hook

sent, step = signal.Signals[sys.argv[1]], int(sys.argv[2])
steps = count(1)


def strike(optimizer, args, kwargs):
    if next(steps) == step:
        print(f"rank 1 gets {sent.name}", flush=True)
        os.kill(os.getpid(), sent)


if os.environ["RANK"] == "1" and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
    register_optimizer_step_post_hook(strike)
sys.argv = sys.argv[3:]
runpy.run_path(sys.argv[0], run_name="__main__")
