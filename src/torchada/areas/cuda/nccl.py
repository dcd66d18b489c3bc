"""torch.cuda.nccl: the collectives of one process over several devices, made of copies between them.

torch.cuda.nccl itself is Python code that checks arguments; the functions of torch._C that it calls exist in CUDA builds only. The
backend's collective library serves process groups, and a single process can only read its version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import error, unsupported

if TYPE_CHECKING:
    from torchada.redirect.types import StreamLike, Tensor

    Tensors = Sequence[Tensor]
    Streams = Sequence[StreamLike | None] | None

_COLLECTIVES = ("all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter")
# ncclRedOp_t, in its order; the fifth, the mean, is a sum that is divided at the end.
_OPERATORS = ("add", "mul", "maximum", "minimum", "add")
_MEAN = 4


def patches(context: Context) -> Iterator[Patch]:
    torch, collectives = context.torch, _Collectives(context)
    for name in _COLLECTIVES:
        api = f"torch.cuda.nccl.{name}"
        yield Patch(
            torch._C, f"_nccl_{name}", getattr(collectives, name), api, kind="emulated", to="torch.Tensor.copy_"
        )
    own = f"{context.backend.adapter}.{context.backend.names.own('nccl')}.version"
    for name in ("version", "version_suffix"):
        yield Patch(torch._C, f"_nccl_{name}", getattr(collectives, name), "torch.cuda.nccl.version", to=own)
    for name in ("unique_id", "init_rank"):
        api = f"torch.cuda.nccl.{name}"
        refuse = unsupported(context, api, "its communicators can be used through torch.distributed only")
        yield Patch(torch._C, f"_nccl_{name}", refuse, api, kind="unsupported")


class _Collectives:
    """The functions of torch._C that torch.cuda.nccl calls.

    `inputs` are dense, contiguous tensors of one dtype and size, one per device.
    """

    def __init__(self, context: Context) -> None:
        self._context, self._torch, self._namespace = context, context.torch, context.namespace
        self._type = context.backend.device_type

    def version(self) -> int:
        """The number that torch.cuda.nccl.version splits into its parts."""
        major, minor, patch = self._version()[:3]
        return int(major) << 32 | int(minor) << 16 | int(patch)

    def version_suffix(self) -> bytes:
        """What follows the three numbers, often empty."""
        return "".join(self._version()[3:]).encode()

    def all_reduce(
        self, inputs: Tensors, outputs: Tensors, op: int, streams: Streams = None, comms: object = None
    ) -> None:
        """Into each of `outputs` the reduction of all `inputs`."""
        self._check(inputs, outputs, 1, 1, comms)
        result = self._reduced(inputs, 0, op, streams)
        self._spread([result] * len(outputs), outputs, streams)

    def reduce(
        self, inputs: Tensors, output: Tensor, root: int = 0, op: int = 0, streams: Streams = None, comms: object = None
    ) -> None:
        """Into `output`, on the device of inputs[root], the reduction of all `inputs`."""
        if not 0 <= root < len(inputs):
            raise RuntimeError("invalid root")
        self._check(inputs, None, 1, 1, comms)
        self._check_pair(inputs[root], inputs[root], output, 1, 1)
        self._spread([self._reduced(inputs, root, op, streams)], [output], streams and streams[root : root + 1])

    def broadcast(self, inputs: Tensors, root: int = 0, streams: Streams = None, comms: object = None) -> None:
        """inputs[root] into each of `inputs`."""
        self._check(inputs, None, 1, 1, comms)
        if not 0 <= root < len(inputs):
            raise RuntimeError("invalid root")
        self._spread([inputs[root]] * len(inputs), inputs, streams)

    def all_gather(self, inputs: Tensors, outputs: Tensors, streams: Streams = None, comms: object = None) -> None:
        """Into each of `outputs` all `inputs` one after the other."""
        count = len(inputs)
        self._check(inputs, outputs, count, 1, comms)
        parts = [output.view(-1).chunk(count) for output in outputs] if inputs and inputs[0].numel() else []
        for index, part in enumerate(zip(*parts)):
            self._spread([inputs[index].view(-1)] * count, part, streams)

    def reduce_scatter(
        self, inputs: Tensors, outputs: Tensors, op: int = 0, streams: Streams = None, comms: object = None
    ) -> None:
        """Into outputs[i] the i-th part of the reduction of all `inputs`."""
        self._check(inputs, outputs, 1, len(inputs), comms)
        parts = self._reduced(inputs, 0, op, streams).view(-1).split(outputs[0].numel() or 1)  # type: ignore[no-untyped-call]  # not annotated in torch
        self._spread([part.view_as(output) for part, output in zip(parts, outputs)], outputs, streams)

    def _version(self) -> tuple[Any, ...]:
        library: Any = getattr(self._namespace, self._context.backend.names.own("nccl"), None)
        if not hasattr(library, "version"):  # torch.distributed puts it into its logs, so it has to be something
            return 0, 0, 0
        version: tuple[Any, ...] = library.version()
        return version

    def _reduced(self, inputs: Tensors, root: int, op: int, streams: Streams) -> Tensor:
        """A new tensor on the device of inputs[root]."""
        if not 0 <= op < len(_OPERATORS):
            raise RuntimeError(f"NCCL Error: invalid argument: {op} is no reduction")
        combine: Callable[..., object] = getattr(self._torch, _OPERATORS[op])
        with self._torch.no_grad(), self._on(streams, root):
            result = inputs[root].clone()
            for index, tensor in enumerate(inputs):
                if index != root:
                    combine(result, tensor.to(result.device, non_blocking=True), out=result)
            if op != _MEAN:
                return result
            return result.div_(len(inputs), rounding_mode=None if result.is_floating_point() else "trunc")

    def _spread(self, sources: Tensors, targets: Tensors, streams: Streams) -> None:
        with self._torch.no_grad():
            for index, (source, target) in enumerate(zip(sources, targets)):
                if source is not target:
                    with self._on(streams, index):
                        target.view(-1).copy_(source.reshape(-1), non_blocking=True)

    def _on(self, streams: Streams, index: int) -> AbstractContextManager[object]:
        stream = streams[index] if streams else None
        return nullcontext() if stream is None else self._namespace.stream(stream)

    def _check(self, inputs: Tensors, outputs: Tensors | None, larger: int, smaller: int, comms: object) -> None:
        """Each output has `larger` times, and one `smaller`-th, of the elements of an input."""
        if comms is not None:
            raise error(
                self._context,
                "torch.cuda.nccl with comms=",
                "its communicators can be used through torch.distributed only",
            )
        if not inputs:
            raise RuntimeError("input sequence can't be empty")
        if outputs is not None and len(inputs) != len(outputs):
            raise RuntimeError("len(inputs) must equal len(outputs)")
        for index, tensor in enumerate(inputs):
            self._check_pair(inputs[0], tensor, None if outputs is None else outputs[index], larger, smaller)
        if len({tensor.get_device() for tensor in inputs}) != len(inputs):
            raise RuntimeError("inputs must be on unique devices")

    def _check_pair(self, model: Tensor, tensor: Tensor, output: Tensor | None, larger: int, smaller: int) -> None:
        self._check_one(model, tensor)
        if tensor.numel() != model.numel():
            raise RuntimeError("all inputs must have the same number of elements")
        if output is None:
            return
        self._check_one(model, output)
        if tensor.get_device() != output.get_device():
            raise RuntimeError("input and output must be on the same device")
        if output.numel() * smaller != model.numel() * larger:
            raise RuntimeError("incorrect output size")

    def _check_one(self, model: Tensor, tensor: Tensor) -> None:
        if tensor.device.type != self._type or tensor.layout is not self._torch.strided:
            raise RuntimeError("input and output elements have to be cuda dense Tensors")
        if tensor.dtype != model.dtype:
            raise RuntimeError("all inputs and outputs must have the same data type")
        if not tensor.is_contiguous():
            raise RuntimeError("all inputs and outputs must be contiguous")
