"""torch.distributed.split_group for a communication backend that cannot split its communicators: each part is a new group.

DeviceMesh splits whenever the default group was made with a device (`init_process_group(device_id=)`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

from torchada.redirect.context import Context


class Parts:
    """Makes groups as parts of others. `_counts` says how many times a group has been split: all its ranks enter each split."""

    def __init__(self, context: Context, c10d: Any) -> None:
        self._c10d, self._context = c10d, context
        self._counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        # Before, torch sorted the ranks, and gave None to those in no part.
        self._as_given = tuple(map(int, context.torch.__version__.split(".")[:2])) >= (2, 15)

    def can_stand_in_for(self, parent: Any) -> bool:
        """Whether the device's own library runs the group: of others, and of torch's wrappers for debugging, torch is right."""
        own = self._context.backend.collectives.process_group(self._context.torch.distributed, "nccl")
        has_device = self._context.backend.device_type in {device.type for device in parent._device_types}
        return own is not None and has_device and isinstance(self._backend_of(parent), own)

    def make(self, parent: Any, given: dict[str, Any]) -> Any:
        """This process's part of `parent`, with the arguments of split_group that were `given`."""
        names = self._backend_names(parent, given.get("backend"))
        timeout = given.get("timeout")
        if timeout is None:
            timeout = self._c10d._get_default_timeout(names)
        self._c10d._check_valid_timeout(timeout)
        count = self._counts.get(parent, 0)
        description = given.get("group_desc")
        members = self._members(parent, given["split_ranks"])
        self._counts[parent] = count + 1
        if members is None:
            return self._c10d.GroupMember.NON_GROUP_MEMBER if self._as_given else None
        return self._join(
            members,
            backend=names,
            backend_options=given.get("pg_options") or self._options_like(parent),
            group_name=_name(parent, count, members),
            group_desc=f"{parent.group_desc}:split:{count}" if description is None else description,
            timeout=timeout,
            device_id=parent.bound_device_id,
        )

    def _backend_of(self, group: Any) -> Any:
        return group._get_backend(self._context.torch.device(self._context.backend.device_type))

    def _members(self, parent: Any, parts: Sequence[Sequence[int]]) -> list[int] | None:
        """The ranks of this process's part in the whole program, or None where it is in no part."""
        numbers: dict[int, int] = self._c10d._world.pg_group_ranks[parent]
        everywhere = {in_parent: rank for rank, in_parent in numbers.items()}
        world = self._c10d._get_default_group()
        for part in parts:
            _check(part, world.size())
            if numbers[world.rank()] in part:
                return [everywhere[rank] for rank in (part if self._as_given else sorted(part))]
        return None

    def _backend_names(self, parent: Any, wanted: object) -> Any:
        """The backends of the new group as torch writes them, such as "nccl" or "cpu:gloo,cuda:nccl"."""
        own, _ = self._c10d._world.pg_map[parent]
        if wanted is None:
            return self._c10d.Backend(own)
        parse = self._c10d._parse_backend_string
        have = parse(own)
        for device, name in parse(str(wanted)).items():
            if device not in have:
                raise ValueError(f"Requested backend for device '{device}' is not present in the parent group: {have}")
            if have[device] != name:
                raise ValueError(f"Backend mismatch for device '{device}': parent has '{have[device]}', not '{name}'.")
        return self._c10d.Backend(str(wanted))

    def _options_like(self, parent: Any) -> Any:
        """A group has the options of the one that it is split from. Those of torch_musa cannot be copied."""
        options = self._backend_of(parent).options
        copy = type(options)(options.is_high_priority_stream)
        if hasattr(options, "config"):
            copy.config = deepcopy(options.config)
        return copy

    def _join(self, members: list[int], **more: Any) -> Any:
        """torch's new_group without the name that it counts, which differs between ranks that were in other groups before."""
        world = self._c10d._world
        default = self._c10d._get_default_group()
        more["backend_options"]._timeout = more["timeout"]
        group, _ = self._c10d._new_process_group_helper(
            len(members), members.index(default.rank()), members, store=world.pg_map[default][1], **more
        )
        world.pg_group_ranks[group] = {rank: in_group for in_group, rank in enumerate(members)}
        # Unlike a group that new_group makes, a part is found by its own tag alone.
        world.tags_to_pg[""].remove(group)
        return group


def _check(part: Sequence[int], largest: int) -> None:
    """What torch asks of a part."""
    if len(part) == 0:
        raise ValueError("the split group cannot be empty")
    if len(part) > largest:
        raise ValueError("the split group's size should be less or equal to the world_size set by init_process_group")
    if len(part) != len(set(part)):
        raise ValueError("the split group cannot have duplicate ranks")


def _name(parent: Any, count: int, members: list[int]) -> str:
    """The same on all members, and of no other group: ranks meet in the store under this name."""
    described = f"{parent.group_name} split {count} {members}"
    return blake2b(described.encode(), digest_size=20).hexdigest()
