"""Copies between devices: the functions that torch.cuda.comm and torch.nn.parallel call in torch._C, which only CUDA builds have.

In the backend's own build of torch, torch.nn.parallel may call the backend's native module instead. Functions of that module are
kept, and those that it lacks are added. What they and torch.nn.parallel refuse is told in CUDA's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise, plain
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import Device, R, StreamLike, Tensor

    Streams = Sequence[StreamLike | None] | None

_NAMES = ("_broadcast", "_broadcast_out", "_broadcast_coalesced", "_scatter", "_scatter_out", "_gather", "_gather_out")

_PARALLEL = tuple(
    f"torch.nn.parallel.{name}"
    for name in ("_functions", "comm", "data_parallel", "distributed", "parallel_apply", "replicate")
)


def patches(context: Context) -> Iterator[Patch]:
    copies = _Copies(context)
    native = getattr(context.namespace, context.backend.native.module, None)
    for name in _NAMES:
        api, own = f"torch.cuda.comm.{name.strip('_')}", _function(name, getattr(copies, name.strip("_")))
        yield Patch(context.torch._C, name, own, api, kind="emulated", to="torch.Tensor.copy_")
        if native is not None and not hasattr(native, name):
            yield Patch(native, name, own, api, kind="emulated", to="torch.Tensor.copy_")
        elif native is not None and not context.mechanism.native:  # which renames what C++ raises
            yield Patch(native, name, _in_cudas_words(context, getattr(native, name)), None, note=api)
    yield from _indices(context)


def _indices(context: Context) -> Iterator[Patch]:
    """torch.nn.parallel asks for indices of devices, and names the device that has none."""
    original: Callable[..., int] = context.torch._utils._get_device_index
    name = original.__name__
    for place in _PARALLEL:
        module = import_module(place)  # the package has a function of the same name
        if vars(module).get(name) is original:
            yield Patch(module, name, _in_cudas_words(context, original), None, note=f"{place}.{name}")


def _in_cudas_words(context: Context, original: Callable[..., R]) -> Callable[..., R]:
    def call(*args: object, **kwargs: object) -> R:
        try:
            return original(*args, **kwargs)
        except (RuntimeError, ValueError) as error:
            from torchada.redirect.backend_words import error_of_cuda  # no error is raised at the start

            raise error_of_cuda(error, context) from error.__cause__

    return disguise(call, original)


def _function(name: str, method: Callable[..., object]) -> Callable[..., object]:
    call = plain(method)
    call.__name__ = call.__qualname__ = name
    call.__module__ = "torch._C"
    return call


class _Copies:
    """The functions of torch._C, with CUDA's argument checks; devices are indices, and -1 is the CPU for `gather`."""

    def __init__(self, context: Context) -> None:
        self._torch, self._namespace, self._type = context.torch, context.namespace, context.backend.device_type

    def broadcast(self, tensor: Tensor, devices: Sequence[int]) -> list[Tensor]:
        """`tensor` on each of `devices`: itself where it is already."""
        return [self._copy(tensor, index) for index in devices]

    def broadcast_out(self, tensor: Tensor, out_tensors: Sequence[Tensor]) -> list[Tensor]:
        """`tensor` written into each of `out_tensors`, of its shape."""
        self._check_on_device(out_tensors, "output")
        for index, out in enumerate(out_tensors):
            _check(
                out.shape == tensor.shape,
                f"Expected all output tensors to have same shape as the source tensor {_shape(tensor)}, but output tensor at "
                f"index {index} has shape {_shape(out)}",
            )
            out.copy_(tensor, non_blocking=True)
        return list(out_tensors)

    def broadcast_coalesced(
        self, tensors: Sequence[Tensor], devices: Sequence[int], buffer_size: int
    ) -> list[list[Tensor]]:
        """For each of `devices` a list of all `tensors`, sent in pieces of `buffer_size` bytes; they lie on the first device."""
        first, *others = devices
        on_first = all(tensor.get_device() == first for tensor in tensors)
        _check(on_first, f"All tensors must be on devices[0]: {first}")
        sent = {}
        for index in dict.fromkeys(others):
            with self._namespace.device(index):
                sent[index] = self._in_pieces(tensors, index, buffer_size)
        return [list(tensors), *(list(sent[index]) for index in others)]

    def scatter(
        self,
        tensor: Tensor,
        devices: Sequence[int],
        chunk_sizes: Sequence[int] | None = None,
        dim: int = 0,
        streams: Streams = None,
    ) -> list[Tensor]:
        """Pieces of `tensor` along `dim`, the first on the first of `devices`; fewer than devices where it is too short."""
        _check(len(devices) > 0, "Expected at least one device to scatter to")
        _check_streams(streams, devices)
        if chunk_sizes is None:
            chunks = tensor.chunk(len(devices), dim)
        else:
            _check(
                len(chunk_sizes) == len(devices),
                f"Expected devices and chunk_sizes to be of same length, but got len(devices) = {len(devices)} and "
                f"len(chunk_sizes) = {len(chunk_sizes)}",
            )
            chunks = _split(tensor, list(chunk_sizes), dim)
        pieces = []
        for index, (chunk, device) in enumerate(zip(chunks, devices)):
            with self._on(streams, index):
                pieces.append(self._copy(chunk, device))
        return pieces

    def scatter_out(
        self, tensor: Tensor, out_tensors: Sequence[Tensor], dim: int = 0, streams: Streams = None
    ) -> list[Tensor]:
        """Pieces of `tensor` along `dim` written into `out_tensors`, whose sizes say where to cut."""
        _check(len(out_tensors) > 0, "Expected at least one output tensor to scatter to")
        self._check_on_device(out_tensors, "output")
        _check_streams(streams, [out.get_device() for out in out_tensors])
        dim = _wrapped(dim, tensor)
        _check_shapes(out_tensors, tensor, dim, "Output")
        sizes = [out.size(dim) for out in out_tensors]
        _check(
            sum(sizes) == tensor.size(dim),
            f"Total size for output tensors along scatter dim {dim} does not match the input: expected {tensor.size(dim)}, but "
            f"got {sum(sizes)}",
        )
        for index, (chunk, out) in enumerate(zip(_split(tensor, sizes, dim), out_tensors)):
            with self._on(streams, index):
                out.copy_(chunk, non_blocking=True)
        return list(out_tensors)

    def gather(self, tensors: Sequence[Tensor], dim: int, destination_index: int | None = None) -> Tensor:
        """`tensors` one after the other along `dim`, on the device of `destination_index`: None is the current one, -1 the CPU."""
        dim, shape = self._gathered_shape(tensors, dim)
        device: Device = self._torch.device("cpu" if destination_index == -1 else self._type)
        if destination_index is not None and destination_index != -1:
            device = self._torch.device(self._type, destination_index)
        out: Tensor = self._torch.empty(
            shape, dtype=tensors[0].dtype, device=device, memory_format=self._format(tensors)
        )
        return _concatenate(tensors, out, dim)

    def gather_out(self, tensors: Sequence[Tensor], out_tensor: Tensor, dim: int = 0) -> Tensor:
        """`tensors` one after the other along `dim`, written into `out_tensor`, on a device or on the CPU."""
        dim, shape = self._gathered_shape(tensors, dim)
        fits = list(out_tensor.shape) == shape
        _check(fits, f"Expected out tensor to have shape {shape}, but got {_shape(out_tensor)}")
        return _concatenate(tensors, out_tensor, dim)

    def _copy(self, tensor: Tensor, index: int) -> Tensor:
        if tensor.get_device() == index:
            return tensor
        return tensor.to(self._torch.device(self._type, index), non_blocking=True)

    def _in_pieces(self, tensors: Sequence[Tensor], index: int, buffer_size: int) -> list[Tensor]:
        """All `tensors` on one other device; those of a piece are views of one buffer there."""
        utils = self._torch._utils
        sent: list[Tensor] = []
        for piece in utils._take_tensors(tensors, buffer_size):
            if piece[0].is_sparse:
                flat = [self._copy(part, index) for part in utils._flatten_sparse_tensors(piece)]
                copies = self._sparse(flat[0], flat[1], piece)
            else:
                copies = utils._unflatten_dense_tensors(self._copy(utils._flatten_dense_tensors(piece), index), piece)
            # Nothing else uses the buffer, so writing to one of the copies does not change the others.
            sent += [copy.data for copy in copies]
        # torch matches them by type. Both are on the device, so the types are the same.
        ordered: list[Tensor] = utils._reorder_tensors_as(sent, tensors)
        return ordered

    def _sparse(self, indices: Tensor, values: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
        """Sparse tensors like those in `like`. torch's own function would make them on the device of `like`."""
        unflatten = self._torch._utils._unflatten_dense_tensors
        parts = zip(
            unflatten(indices, [t._indices() for t in like]), unflatten(values, [t._values() for t in like]), like
        )
        make = self._torch.sparse_coo_tensor
        return [make(i, v, t.shape, is_coalesced=t.is_coalesced(), check_invariants=False) for i, v, t in parts]

    def _gathered_shape(self, tensors: Sequence[Tensor], dim: int) -> tuple[int, list[int]]:
        _check(len(tensors) > 0, "Expected at least one tensor to gather from")
        self._check_on_device(tensors, "input")
        dim = _wrapped(dim, tensors[0])
        _check_shapes(tensors, tensors[0], dim, "Input")
        shape = list(tensors[0].shape)
        shape[dim] = sum(tensor.size(dim) for tensor in tensors)
        return dim, shape

    def _format(self, tensors: Sequence[Tensor]) -> object:
        last = self._torch.channels_last
        by_channel = all(
            t.dim() == 4 and t.is_contiguous(memory_format=last) and not t.is_contiguous() for t in tensors
        )
        return last if by_channel else self._torch.contiguous_format

    def _on(self, streams: Streams, index: int) -> AbstractContextManager[object]:
        stream = streams[index] if streams is not None else None
        return nullcontext() if stream is None else self._namespace.stream(stream)

    def _check_on_device(self, tensors: Sequence[Tensor], role: str) -> None:
        for index, tensor in enumerate(tensors):
            name = "tensor" if role == "input" else "output tensor"
            _check(
                tensor.device.type == self._type,
                f"Expected all {role} tensors to be CUDA tensors, but {name} at index {index} has device '{tensor.device}'",
            )


def _concatenate(tensors: Sequence[Tensor], out: Tensor, dim: int) -> Tensor:
    begin = 0
    for tensor in tensors:
        out.narrow(dim, begin, tensor.size(dim)).copy_(tensor, non_blocking=out.device.type != "cpu")
        begin += tensor.size(dim)
    return out


def _split(tensor: Tensor, sizes: list[int], dim: int) -> tuple[Tensor, ...]:
    pieces: tuple[Tensor, ...] = tensor.split(sizes, dim)  # type: ignore[no-untyped-call]  # torch does not annotate it
    return pieces


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise RuntimeError(message)


def _check_shapes(tensors: Sequence[Tensor], model: Tensor, dim: int, role: str) -> None:
    """All have the shape of `model`, except along `dim`."""
    for index, tensor in enumerate(tensors):
        _check(
            tensor.dim() == model.dim(),
            f"{role} tensor at index {index} has incorrect number of dimensions: expected {model.dim()}, but got {tensor.dim()}",
        )
        expected = [*model.shape[:dim], tensor.size(dim), *model.shape[dim + 1 :]]
        _check(
            list(tensor.shape) == expected,
            f"{role} tensor at index {index} has invalid shape {_shape(tensor)}, but expected {expected}",
        )


def _check_streams(streams: Streams, devices: Sequence[int]) -> None:
    if streams is None:
        return
    _check(
        len(streams) == len(devices),
        f"Expected one stream for each device, but got {len(streams)} streams for {len(devices)} devices",
    )
    for index, (stream, device) in enumerate(zip(streams, devices)):
        _check(
            stream is None or stream.device.index == device,
            f"Expected the device associated with the stream at index {index} to match the device supplied at that index "
            f"(expected {device})",
        )


def _wrapped(dim: int, tensor: Tensor) -> int:
    rank = tensor.dim()
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank


def _shape(tensor: Tensor) -> list[int]:
    return list(tensor.shape)
