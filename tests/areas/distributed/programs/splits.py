"""Parts of a group that was made with a device, as DeviceMesh makes them: torchrun --nproc-per-node 4 splits.py"""

import os
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

# Before, torch sorted the ranks of a part, and gave None to those in no part.
AS_GIVEN = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15)
OUTSIDE = dist.GroupMember.NON_GROUP_MEMBER if AS_GIVEN else None

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))


def total(group):
    tensor = torch.full((2,), float(rank), device="cuda")
    dist.all_reduce(tensor, group=group)
    return int(tensor[0])


def options_of(group):
    return group._get_backend(torch.device("cuda")).options


alone = dist.new_group([0])  # from here on rank 0 knows one group more than the others
halves = dist.split_group(split_ranks=[[2, 0], [1, 3]], group_desc="halves")
assert total(halves) == (2 if rank % 2 == 0 else 4) and halves.group_desc == "halves"
even = [2, 0] if AS_GIVEN else [0, 2]
assert dist.get_process_group_ranks(halves) == (even if rank % 2 == 0 else [1, 3])
some = dist.split_group(split_ranks=[[0, 1]], timeout=timedelta(minutes=3))
assert (some is OUTSIDE) == (rank > 1)
if rank < 2:
    assert total(some) == 1 and some.group_desc == f"{dist.group.WORLD.group_desc}:split:1"
    assert options_of(some)._timeout == timedelta(minutes=3)
    assert options_of(halves)._timeout == timedelta(minutes=10)
    assert some.bound_device_id == torch.device("cuda", rank)
inside = dist.split_group(halves, [[0], [1]])  # ranks of the half
assert total(inside) == rank and dist.get_backend(inside) == "nccl"
assert inside.group_desc == "halves:split:0" and inside.group_name != halves.group_name
again = dist.split_group(halves, [[0, 1]])
assert total(again) == total(halves) and again.group_name != halves.group_name
both = dist.new_group([0, 1], use_local_synchronization=False)  # names that torch counts are in step
assert rank > 1 or total(both) == 1
options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
urgent = dist.split_group(split_ranks=[[0, 1, 2, 3]], pg_options=options)
assert options_of(urgent).is_high_priority_stream and not options_of(halves).is_high_priority_stream
assert options_of(dist.split_group(urgent, [[0, 1, 2, 3]])).is_high_priority_stream
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("rows", "columns"))
assert total(mesh.get_group("rows")) == (2 if rank % 2 == 0 else 4)
assert total(mesh.get_group("columns")) == (1 if rank < 2 else 5)
for wrong, error in (
    ([[]], "cannot be empty"),
    ([[0, 0]], "duplicate ranks"),
    ([[0, 1, 2, 3, 4]], "less or equal to the world_size"),
    (None, "cannot be None"),
):
    with pytest.raises(ValueError, match=error):
        dist.split_group(split_ranks=wrong)
if rank > 0:
    with pytest.raises(ValueError, match=r"is not part of the parent group|is not registered"):
        dist.split_group(alone, [[0]])
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} is done")
