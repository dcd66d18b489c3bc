"""`fault_tolerant.py STEPS`: two replicas of a model by torchft, on a GPU each; one is killed and comes back by the other's state.

A batch is that of all replicas that take part in a step, so the loss does not depend on their number. `STEPS alone` is the same
training in one process without torchft, and `STEPS NUMBER LIGHTHOUSE` is one of the replicas.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import torch
from torch import nn

BATCH = 12
#: The second replica kills itself after this step. The first goes on alone, up to the step that it waits for the other before.
KILLED, BACK = 3, 6


def batch(step):
    inputs = torch.randn(BATCH, 16, generator=torch.Generator().manual_seed(step))
    return inputs, inputs.sin().sum(1, keepdim=True)


def made(device, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    return model, torch.optim.Adam(model.parameters(), lr=1e-2)


def alone(steps):
    model, optimizer = made("cpu", 0)
    for step in range(1, steps + 1):
        inputs, wanted = batch(step)
        loss = nn.functional.mse_loss(model(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.9f} on one process of the CPU", flush=True)


def wait_for_the_other(step):
    """The process that listens makes a file when both replicas are there."""
    while step in (1, BACK) and not os.path.exists(f"both-{step}"):
        time.sleep(0.1)


def die_once():
    """Without a word, and between two steps."""
    if not os.path.exists("killed"):
        open("killed", "x").close()
        os.kill(os.getpid(), signal.SIGKILL)


def replica(steps, number, lighthouse):
    from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupNCCL

    device = torch.device("cuda", int(number))
    torch.cuda.set_device(device)
    # Other weights in each replica: the first one's have to come to the second.
    model, plain = made(device, int(number))

    def load(state):
        model.load_state_dict(state["model"])
        plain.load_state_dict(state["optimizer"])

    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        pg=ProcessGroupNCCL(timeout=timedelta(seconds=30)),
        min_replica_size=1,
        load_state_dict=load,
        state_dict=lambda: {"model": model.state_dict(), "optimizer": plain.state_dict()},
        replica_id=f"replica{number}_",
        store_addr="127.0.0.1",
        store_port=store.port,
        rank=0,
        world_size=1,
        lighthouse_addr=lighthouse,
        timeout=timedelta(seconds=30),
        quorum_timeout=timedelta(seconds=120),
        use_async_quorum=False,
    )
    parallel, optimizer = DistributedDataParallel(manager, model), Optimizer(manager, plain)
    print(f"replica {number} is there", flush=True)
    while manager.current_step() < steps:
        wait_for_the_other(manager.current_step() + 1)
        optimizer.zero_grad()  # gathers the replicas
        step, size, place = manager.current_step() + 1, manager.num_participants(), manager.participating_rank()
        inputs, wanted = (part.to(device) for part in batch(step))
        with torch.no_grad():
            total = nn.functional.mse_loss(model(inputs), wanted)
        loss = nn.functional.mse_loss(parallel(inputs[place::size]), wanted[place::size])
        loss.backward()
        optimizer.step()
        if manager.current_step() == step:  # all who took part have agreed
            print(f"step {step}: loss {total.item():.9f} on {size} replicas of {device.type}", flush=True)
        if number == "1" and step == KILLED:
            die_once()
    manager.shutdown(wait=False)


class Replica:
    """A process of its own, which this one listens to."""

    def __init__(self, steps, number, lighthouse, heard):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), str(steps), str(number), lighthouse],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.ear = threading.Thread(target=self.listen, args=[heard])
        self.ear.start()

    def listen(self, heard):
        for line in self.process.stdout:
            print(line, end="", flush=True)
            heard(line)


def main(steps):
    from torchft.coordination import LighthouseServer

    # A replica is waited for while its heart beats.
    lighthouse = LighthouseServer(bind="127.0.0.1:0", min_replicas=1, join_timeout_ms=60000, heartbeat_timeout_ms=10000)
    there = []

    def heard(line):
        if " is there" in line:
            there.append(line)
            for step in {2: [1], 3: [BACK]}.get(len(there), []):
                open(f"both-{step}", "x").close()

    first, second = (Replica(steps, number, lighthouse.address(), heard) for number in (0, 1))
    second.ear.join()
    again = Replica(steps, 1, lighthouse.address(), heard)
    for each in (first, again):
        each.ear.join()
    lighthouse.shutdown()
    return max(abs(each.process.wait()) for each in (first, again))


if __name__ == "__main__":
    steps = int(sys.argv[1])
    if sys.argv[2:] == ["alone"]:
        alone(steps)
    elif sys.argv[2:]:
        replica(steps, *sys.argv[2:])
    else:
        sys.exit(main(steps))
