"""`single_controller.py STEPS`: monarch starts two processes with a GPU each and tells them what to do; they train by NCCL.

`single_controller.py STEPS alone` is the same training in one process of the CPU without monarch.
"""

import sys

import torch
from torch import nn

BATCH = 12


def batch(step):
    inputs = torch.randn(BATCH, 16, generator=torch.Generator().manual_seed(step))
    return inputs, inputs.sin().sum(1, keepdim=True)


def made(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    return model, torch.optim.Adam(model.parameters(), lr=1e-2)


def trained(parallel, optimizer, inputs, wanted):
    loss = nn.functional.mse_loss(parallel(inputs), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def alone(steps):
    model, optimizer = made("cpu")
    for step in range(1, steps + 1):
        print(f"step {step}: loss {trained(model, optimizer, *batch(step)).item():.9f} on one process of the CPU")


def controlled(steps):
    import torch.distributed as dist
    from monarch.actor import Actor, current_rank, endpoint, shutdown_context, this_host
    from monarch.spmd import setup_torch_elastic_env
    from torch.nn.parallel import DistributedDataParallel

    class Trainer(Actor):
        @endpoint
        def prepare(self):
            self.rank = current_rank().rank
            self.device = torch.device("cuda", self.rank)
            torch.cuda.set_device(self.device)
            dist.init_process_group("nccl")
            self.size = dist.get_world_size()
            model, self.optimizer = made(self.device)
            self.parallel = DistributedDataParallel(model, device_ids=[self.rank])

        @endpoint
        def train(self, step):
            inputs, wanted = (part[self.rank :: self.size].to(self.device) for part in batch(step))
            loss = trained(self.parallel, self.optimizer, inputs, wanted)
            dist.all_reduce(loss)
            return loss / self.size, loss.device.type  # monarch brings the tensor to the controller's CPU

        @endpoint
        def end(self):
            dist.destroy_process_group()

    processes = this_host().spawn_procs({"gpus": 2})
    setup_torch_elastic_env(processes)
    trainers = processes.spawn("trainers", Trainer)
    trainers.prepare.call().get()
    for step in range(1, steps + 1):
        for _, (loss, kind) in trainers.train.call(step).get().items():
            print(f"step {step}: loss {loss.item():.9f} on 2 processes of {kind}", flush=True)
    trainers.end.call().get()
    processes.stop().get()
    shutdown_context().get()


if __name__ == "__main__":
    (alone if sys.argv[2:] == ["alone"] else controlled)(int(sys.argv[1]))
