"""Checks of torch.distributed with two ranks: both run every function, in order, and return numbers to be compared.

The same text runs as a program for CUDA (device "cuda", backend "nccl", with torchada) and as one for MUSA (device "musa", backend
"mccl", without it): the former must give the same results as the latter.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from typing import Any

if os.environ.get("TORCHADA_DISABLE") == "1":  # the program for MUSA, where no torchada installs the simulator
    import musasim

    musasim.install()
    import torch_musa  # noqa: F401
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

DEVICE, BACKEND = os.environ.get("CHECKED_DEVICE", "cuda"), os.environ.get("CHECKED_BACKEND", "nccl")
ACCELERATOR: Any = importlib.import_module("torch.cuda") if DEVICE == "cuda" else getattr(torch, DEVICE)
SIZE = 2


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 4))


def batch(rank: int, step: int) -> torch.Tensor:
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(10 * step + rank)).to(DEVICE)


def losses(rank: int, net: Callable[..., Any], optimizer: torch.optim.Optimizer, steps: int = 3) -> list[float]:
    """The mean loss over the ranks of each step."""
    seen = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = net(batch(rank, step)).float().square().mean()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
        seen.append(round(mean.item(), 5))
    return seen


def sgd(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), lr=0.1)


def data_parallel(rank: int) -> list[float]:
    net = nn.parallel.DistributedDataParallel(
        model().to(DEVICE), device_ids=[rank], output_device=rank, bucket_cap_mb=1
    )
    assert next(net.parameters()).device == torch.device(DEVICE, rank)
    assert dist.get_backend(net.process_group) == BACKEND
    return losses(rank, net, sgd(net))


def communication_hooks(rank: int) -> list[list[float]]:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
    hooks = [
        (None, default_hooks.allreduce_hook),
        (None, default_hooks.fp16_compress_hook),
        (state, powerSGD_hook.powerSGD_hook),
    ]
    if DEVICE == "cuda":  # torch checks for CUDA before it accepts these
        hooks.append((None, default_hooks.bf16_compress_hook))
        hooks.append((None, default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)))
    answers = []
    for hook_state, hook in hooks:
        net = nn.parallel.DistributedDataParallel(model().to(DEVICE), device_ids=[rank])
        net.register_comm_hook(hook_state, hook)
        answers.append(losses(rank, net, sgd(net)))
    if DEVICE == "cuda":
        exact, *compressed = answers.pop(0), answers.pop(), answers.pop()
        for found in compressed:
            assert all(abs(a - b) < 0.01 for a, b in zip(found, exact)), (found, exact)
        answers.insert(0, exact)
    return answers


def unused_parameters_and_uneven_inputs(rank: int) -> list[float]:
    from torch.distributed.algorithms.join import Join

    net = nn.parallel.DistributedDataParallel(
        model().to(DEVICE), device_ids=[rank], find_unused_parameters=True, gradient_as_bucket_view=True
    )
    with Join([net]):
        for step in range(2 + rank):
            net(batch(rank, step)).square().mean().backward()
    sums = [parameter.grad.sum().item() for parameter in net.parameters()]
    return [round(value, 4) for value in sums]


def sharded_optimizer(rank: int) -> list[float]:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = nn.parallel.DistributedDataParallel(model().to(DEVICE), device_ids=[rank])
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.01)
    seen = losses(rank, net, optimizer)
    optimizer.consolidate_state_dict(to=0)
    if rank == 0:
        assert len(optimizer.state_dict()["state"]) == 6
    return seen


def batch_norm_of_all(rank: int) -> list[float]:
    net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4))).to(DEVICE)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.fill_(0.5)
    net = nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    net(batch(rank, 0)).square().sum().backward()
    return [round(value, 4) for value in net.module[1].running_mean.tolist()]


def fully_sharded(rank: int) -> list[Any]:
    from torch.distributed.fsdp import CPUOffload, FullStateDictConfig, MixedPrecision, StateDictType
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    policy = ModuleWrapPolicy({nn.Linear})
    answers: list[Any] = []
    half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for more in (
        {"device_id": ACCELERATOR.current_device()},
        {"device_id": torch.device(DEVICE, rank), "mixed_precision": half, "use_orig_params": True},
        {"device_id": rank, "cpu_offload": CPUOffload(offload_params=True)},
    ):
        net = FSDP(model(), auto_wrap_policy=policy, **more)
        answers.append(losses(rank, net, sgd(net)))
    net = FSDP(model(), auto_wrap_policy=policy, device_id=rank)
    with FSDP.state_dict_type(
        net, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    ):
        state = net.state_dict()
    if rank == 0:
        assert all(value.device.type == "cpu" for value in state.values())
        model().load_state_dict(state)
    return answers


def fully_shard_each(rank: int) -> list[Any]:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
    from torch.distributed.tensor import DTensor

    mesh = init_device_mesh(DEVICE, (SIZE,))
    half = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    answers: list[Any] = []
    for more in ({}, {"mesh": mesh}, {"mesh": mesh, "mp_policy": half}, {"offload_policy": CPUOffloadPolicy()}):
        net = model()
        for layer in net:
            fully_shard(layer, **more)
        fully_shard(net, **more)
        if "offload_policy" not in more:
            assert all(isinstance(p, DTensor) and p.to_local().device.index == rank for p in net.parameters())
        answers.append(losses(rank, net, sgd(net)))
    net = model()
    for module in (*net, net):
        fully_shard(module)
    if hasattr(net, "set_gradient_divide_factor"):
        for module in (*(layer for layer in net if isinstance(layer, nn.Linear)), net):
            module.set_gradient_divide_factor(2.0 * SIZE)
        answers.append(losses(rank, net, torch.optim.SGD(net.parameters(), lr=0.2)))
    return answers


def fully_shard_on_the_cpu(rank: int) -> list[float]:
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    group = dist.new_group(backend="gloo")
    mesh, net, seen = DeviceMesh.from_group(group, "cpu"), model(), []
    for layer in (*net, net):
        fully_shard(layer, mesh=mesh)
    optimizer = sgd(net)
    for step in range(3):
        optimizer.zero_grad()
        loss = net(batch(rank, step).cpu()).square().mean()
        loss.backward()
        optimizer.step()
        mean = loss.detach() / SIZE
        dist.all_reduce(mean, group=group)
        seen.append(round(mean.item(), 5))
    return seen


def tensor_parallel(rank: int) -> list[Any]:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, rand
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh(DEVICE, (SIZE,), mesh_dim_names=("tp",))
    whole = torch.arange(12.0, device=DEVICE).view(4, 3)
    shard = distribute_tensor(whole, mesh, [Shard(0)])
    answers: list[Any] = [(shard @ shard.t()).full_tensor().sum().item(), list(shard.to_local().shape)]
    local = DTensor.from_local(torch.ones(2, 3, device=DEVICE), mesh, [Shard(0)])
    answers.append(local.redistribute(mesh, [Replicate()]).to_local().sum().item())
    assert torch.equal(shard.full_tensor(), whole) and shard.device == torch.device(DEVICE, rank)
    torch.manual_seed(3)
    noise = rand(4, 4, device_mesh=mesh, placements=[Shard(0)]).full_tensor()
    assert not torch.equal(noise[:2], noise[2:])
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    torch.manual_seed(0)
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.3)
    net = parallelize_module(net.to(DEVICE), mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for step in range(2):
        optimizer.zero_grad()
        loss = net(batch(0, step)).square().mean()
        loss.backward()
        optimizer.step()
        answers.append(round(loss.item(), 5))
    return answers


def pipeline(rank: int) -> list[float]:
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    answers = []
    for schedule in (ScheduleGPipe, Schedule1F1B):
        whole = model().to(DEVICE)
        part = whole[:2] if rank == 0 else whole[2:]
        stage = PipelineStage(part, rank, SIZE, torch.device(DEVICE, rank))
        run = schedule(stage, n_microbatches=2, loss_fn=lambda out, target: (out - target).square().mean())
        found: list[torch.Tensor] = []
        if rank == 0:
            run.step(batch(0, 0))
        else:
            run.step(target=torch.zeros(4, 4, device=DEVICE), losses=found)
        gradient = sum(parameter.grad.abs().sum() for parameter in part.parameters())
        answers += [round(gradient.item(), 4), *(round(each.item(), 5) for each in found)]
    return answers


def common_folder(rank: int) -> str:
    place = [tempfile.mkdtemp() if rank == 0 else ""]
    dist.broadcast_object_list(place, src=0)
    return place[0]


def checkpoints(rank: int) -> list[float]:
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    place = common_folder(rank)
    net = fully_shard(model(), mesh=init_device_mesh(DEVICE, (SIZE,)))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses(rank, net, optimizer)
    state, moments = get_state_dict(net, optimizer)
    checkpoint.save({"model": state, "optimizer": moments}, checkpoint_id=place)
    expected = losses(rank, net, optimizer)
    again = fully_shard(model(), mesh=init_device_mesh(DEVICE, (SIZE,)))
    restored = torch.optim.Adam(again.parameters(), lr=0.01)
    state, moments = get_state_dict(again, restored)
    checkpoint.load({"model": state, "optimizer": moments}, checkpoint_id=place)
    set_state_dict(again, restored, model_state_dict=state, optim_state_dict=moments)
    found = losses(rank, again, restored)
    assert found == expected, (found, expected)
    full, _ = get_state_dict(again, restored, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        assert all(value.device.type == "cpu" for value in full.values())
    mixed = dist.new_group(backend=f"cpu:gloo,{DEVICE}:{BACKEND}")
    pending = checkpoint.async_save({"model": state}, checkpoint_id=f"{place}/async", process_group=mixed)
    pending.result()
    return found


def remote_procedures(rank: int) -> list[Any]:
    from torch.distributed import rpc
    from torch.distributed.nn import RemoteModule

    options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{common_folder(rank)}/meeting", num_worker_threads=4)
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=SIZE, rpc_backend_options=options)
    answers: list[Any] = []
    if rank == 0:
        module = RemoteModule(f"worker1/{DEVICE}:1", nn.Linear, args=(3, 2))
        rows = module(torch.ones(4, 3))
        answers = [len(rows), [str(row.device) for row in rows]]
        try:
            rpc.rpc_sync("worker1", torch.add, args=(torch.ones(2, device=DEVICE), 1))
        except RuntimeError as error:
            answers.append(str(error).partition(",")[0])
    rpc.shutdown()
    return answers


def functional_collectives(rank: int) -> list[Any]:
    import torch.distributed._functional_collectives as functional
    import torch.distributed.nn.functional as differentiable

    group, one = dist.group.WORLD, torch.full((2,), rank + 1.0, device=DEVICE)
    answers = [
        functional.all_reduce(one, "sum", group).tolist(),
        functional.all_gather_tensor(one, 0, group).tolist(),
        functional.reduce_scatter_tensor(one, "sum", 0, group).tolist(),
        functional.all_to_all_single(one, None, None, group).tolist(),
    ]
    x = torch.full((2,), rank + 1.0, device=DEVICE, requires_grad=True)
    differentiable.all_reduce(x).square().sum().backward()
    assert x.grad is not None
    answers.append(x.grad.tolist())
    x.grad = None
    torch.stack(differentiable.all_gather(x)).prod(0).sum().backward()
    answers.append(x.grad.tolist())
    return answers


def scaled_sums(rank: int) -> list[Any]:
    """Sums of halves, by each function that takes an operator; only results are written to."""
    half, group = dist._make_nccl_premul_sum(0.5), dist.group.WORLD
    assert group is not None
    whole, single, answers = torch.arange(4.0, device=DEVICE) + rank, torch.zeros(2, device=DEVICE), []
    copy = whole.clone()
    dist.reduce_scatter_tensor(single, whole, op=half)
    answers.append(single.tolist())
    dist.reduce_scatter(single.zero_(), list(whole.chunk(SIZE)), op=half)
    answers.append(single.tolist())
    dist.reduce(whole, dst=1, op=half)
    answers.append(whole.tolist())
    dist.all_reduce(copy, op=half)
    answers.append(copy.tolist())
    dist.all_reduce(copy, op=dist._make_nccl_premul_sum(torch.tensor([2.0], device=DEVICE)))
    answers.append(copy.tolist())
    with dist._coalescing_manager(device=torch.device(DEVICE, rank)):
        for _ in range(2):
            dist.all_reduce(copy, op=half)
    answers.append(copy.tolist())
    options = dist.AllreduceOptions()
    options.reduceOp = half
    group.allreduce([copy], options).wait()
    assert options.reduceOp == dist.ReduceOp.PREMUL_SUM  # the program's own
    group.allreduce(copy, half).wait()
    return [*answers, copy.tolist()]


def messages(rank: int) -> list[Any]:
    other = 1 - rank
    received = torch.zeros(2, device=DEVICE)
    operations = [
        dist.P2POp(dist.isend, torch.ones(2, device=DEVICE) * rank, other),
        dist.P2POp(dist.irecv, received, other),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    objects: list[Any] = [None] * SIZE
    dist.all_gather_object(objects, {"device": torch.device(DEVICE, rank), "tensor": torch.ones(1, device=DEVICE)})
    assert [each["tensor"].device for each in objects] == [torch.device(DEVICE, index) for index in range(SIZE)]
    with dist._coalescing_manager(device=torch.device(DEVICE, rank), async_ops=True) as several:
        for _ in range(2):
            dist.all_reduce(received)
    several.wait()
    dist.barrier(device_ids=[rank])
    try:
        dist.monitored_barrier()
    except ValueError as error:
        return [*received.tolist(), str(error)]
    raise AssertionError("a monitored barrier is gloo's")


def gloo_on_the_device(rank: int) -> dict[str, list[float]]:
    """Every collective of a group of gloo beside the device's, on tensors of the device, and then one of the device's own."""
    group, answers = dist.new_group(backend="gloo"), {}
    mine, other = torch.full((2,), rank + 1.0, device=DEVICE), 1 - rank

    def empty(*shape: int) -> torch.Tensor:
        return torch.empty(*shape or (2,), device=DEVICE)

    def keep(name: str, *results: torch.Tensor) -> None:
        assert all(result.device == torch.device(DEVICE, rank) for result in results)
        answers[name] = torch.cat(results).tolist()

    work = dist.all_reduce(total := mine.clone(), group=group, async_op=True)
    (value,) = work.get_future().wait()
    keep("all_reduce", total, value)
    dist.broadcast(sent := mine.clone(), 1, group=group)
    keep("broadcast", sent)
    dist.reduce(reduced := mine.clone(), 0, group=group)
    keep("reduce", reduced if rank == 0 else mine)
    dist.all_gather(gathered := [empty(), empty()], mine, group=group)
    keep("all_gather", *gathered)
    dist.all_gather_into_tensor(whole := empty(4), mine, group=group)
    keep("all_gather_into_tensor", whole)
    dist.reduce_scatter(part := empty(), [mine, mine], group=group)
    keep("reduce_scatter", part)
    dist.gather(mine, at_the_root := [empty(), empty()] if rank == 0 else None, 0, group=group)
    keep("gather", *(at_the_root or [mine]))
    dist.scatter(scattered := empty(), [mine, mine + 1] if rank == 0 else None, 0, group=group)
    keep("scatter", scattered)
    dist.all_to_all_single(exchanged := empty(), mine, group=group)
    keep("all_to_all_single", exchanged)
    operations = [
        dist.P2POp(dist.isend, mine, other, group=group),
        dist.P2POp(dist.irecv, received := empty(), other, group=group),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
        assert work.is_completed()
    keep("messages", received)
    if rank == 0:
        dist.send(mine, 1, group=group)
    else:
        assert dist.recv(received, group=group) == 0
    keep("from anybody", received)
    net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1, bias=False).to(DEVICE), process_group=group)
    net(mine).sum().backward()
    (weight,) = net.parameters()
    assert weight.grad is not None
    keep("DistributedDataParallel", weight.grad[0])
    dist.all_reduce(total)
    keep("of the device", total)
    return answers


def parallel_contexts(rank: int) -> list[float]:
    """How far attention of a sequence over two ranks is from that of one, and its gradients are; causal or not, balanced or not."""
    from torch.distributed.tensor.experimental import _context_parallel as contexts
    from torch.nn.functional import scaled_dot_product_attention as attention

    mesh = dist.init_device_mesh(DEVICE, (SIZE,))
    torch.manual_seed(0)
    whole = [torch.randn(2, 2, 8 * SIZE, 4, device=DEVICE) for _ in range(3)]
    far = []
    for causal, balanced in ((True, True), (True, False), (False, True)):
        alone = [tensor.clone().requires_grad_() for tensor in whole]
        expected = attention(*alone, is_causal=causal)
        expected.square().sum().backward()
        parts = [tensor.clone() for tensor in whole]
        contexts._attention._cp_options.enable_load_balance = balanced
        with contexts.context_parallel(mesh, buffers=parts, buffer_seq_dims=[2, 2, 2]):
            mine = [part.detach().clone().requires_grad_() for part in parts]
            output = nn.functional.scaled_dot_product_attention(*mine, is_causal=causal)
            output.square().sum().backward()
        assert nn.functional.scaled_dot_product_attention is attention
        results = [output.detach(), *(part.grad for part in mine)]
        together = contexts.context_parallel_unshard(mesh, results, [2] * 4)
        wanted = [expected.detach(), *(tensor.grad for tensor in alone)]
        far += [(ours - theirs).abs().max().item() for ours, theirs in zip(together, wanted)]
    contexts._attention._cp_options.enable_load_balance = True
    return far


class Attention(nn.Module):
    """As torchtitan's wrapper: what takes part of a sequence is a module, and it alone knows that it is causal."""

    def forward(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(queries * 1.0, keys, values, is_causal=True, scale=scale)


def parallel_context_of_a_module(rank: int) -> list[Any]:
    """As parallel_contexts, where a plan spreads the module; last the type of what it returns."""
    from torch.distributed.tensor.experimental import _attention as contexts
    from torch.distributed.tensor.parallel import parallelize_module

    mesh = dist.init_device_mesh(DEVICE, (SIZE,))
    torch.manual_seed(0)
    whole = [torch.randn(2, 2, 8 * SIZE, 4, device=DEVICE) for _ in range(3)]
    alone = [tensor.clone().requires_grad_() for tensor in whole]
    expected = Attention()(*alone, scale=0.3)
    expected.square().sum().backward()
    contexts._enable_context_parallel_dispatcher()
    plan = contexts._ContextParallel(seq_dim=2, attention_type=contexts._ContextParallel.AttentionType.SDPA)
    module = parallelize_module(Attention(), mesh, plan)
    balancer = contexts._HeadTailLoadBalancer(8 * SIZE, SIZE, torch.device(DEVICE))
    far: list[Any] = []
    for balance in (None, balancer):
        parts = contexts._context_parallel_shard(mesh, whole, [2, 2, 2], balance)
        mine = [part.detach().clone().requires_grad_() for part in parts]
        output = module(mine[0], mine[1], values=mine[2], scale=0.3)
        output.square().sum().backward()
        results = [output.detach(), *(part.grad for part in mine)]
        together = contexts.context_parallel_unshard(mesh, results, [2] * 4, balance)
        wanted = [expected.detach(), *(tensor.grad for tensor in alone)]
        far += [(ours - theirs).abs().max().item() for ours, theirs in zip(together, wanted)]
    contexts._disable_context_parallel_dispatcher()
    return [*far, type(output) is torch.Tensor]


def fused_products(rank: int) -> list[Any]:
    import torch.distributed._symmetric_memory as memory

    name = dist.group.WORLD.group_name
    rows = torch.full((2, 4), rank + 1.0, device=DEVICE)
    gathered, (product,) = torch.ops.symm_mem.fused_all_gather_matmul(rows, [torch.ones(4, 3, device=DEVICE)], 0, name)
    part = torch.ops.symm_mem.fused_matmul_reduce_scatter(rows, torch.ones(4, 3, device=DEVICE), "sum", 0, name)
    enabled = memory.is_symm_mem_enabled_for_group(name)
    return [gathered[:, 0].tolist(), product[:, 0].tolist(), part.tolist(), enabled]


def compiled(rank: int) -> list[Any]:
    import torch.distributed._functional_collectives as functional

    @torch.compile(fullgraph=True)  # type: ignore[untyped-decorator]
    def total(x: torch.Tensor) -> torch.Tensor:
        return functional.all_reduce(x * 2, "sum", dist.group.WORLD) + 1

    @torch.compile(fullgraph=True)  # type: ignore[untyped-decorator]
    def gathered(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty(2 * SIZE, device=x.device)
        dist.all_gather_into_tensor(out, x.sin())
        return out.cos()

    x = torch.full((2,), rank + 1.0, device=DEVICE)
    net = torch.compile(nn.parallel.DistributedDataParallel(model().to(DEVICE), device_ids=[rank]))
    return [total(x).tolist(), [round(each, 5) for each in gathered(x).tolist()], losses(rank, net, sgd(net), steps=2)]


QUICK: tuple[Callable[[int], Any], ...] = (
    data_parallel,
    communication_hooks,
    unused_parameters_and_uneven_inputs,
    sharded_optimizer,
    batch_norm_of_all,
    fully_sharded,
    fully_shard_on_the_cpu,
    fully_shard_each,
    tensor_parallel,
    pipeline,
    checkpoints,
    remote_procedures,
    functional_collectives,
    scaled_sums,
    messages,
    gloo_on_the_device,
    parallel_contexts,
    parallel_context_of_a_module,
    fused_products,
)
SLOW: tuple[Callable[[int], Any], ...] = (compiled,)


def serve(rank: int, place: str, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    ACCELERATOR.set_device(rank)
    dist.init_process_group(BACKEND, init_method=f"file://{place}/meeting", rank=rank, world_size=SIZE)
    answers: dict[str, Any] = {}
    left_out = os.environ.get("CHECKS_LEFT_OUT", "").split(",")  # a check that fails ends the process
    for check in (*QUICK, *SLOW):
        if check.__name__ in names and check.__name__ not in left_out:
            try:
                answers[check.__name__] = [True, check(rank)]
            except Exception:
                answers[check.__name__] = [False, traceback.format_exc()]
                break  # the other rank may be waiting for something else
    with open(f"{place}/{rank}.json", "w") as file:
        json.dump(answers, file)
    if all(fine for fine, _ in answers.values()):
        dist.destroy_process_group()
    else:
        os._exit(1)


if __name__ == "__main__":
    mp.spawn(serve, (sys.argv[1], sys.argv[2:]), nprocs=SIZE)
