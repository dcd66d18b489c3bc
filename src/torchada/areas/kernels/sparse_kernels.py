"""Sparse tensors: torch_musa 2.7.1 makes and takes them apart (musa_functions.yaml), and computes hardly anything with them.
2.9.1 has nearly all of CUDA's operators, and keeps them but for products with a matrix and sums: none of its kernels could be read.

What CUDA has and the backend lacks is computed on the CPU, with copies there and back, by a fallback for each of the two keys of
sparse tensors. The product with a matrix, which programs with graphs are made of, and the sum of two COO tensors, by which
gradients add up, are computed on the device by operators of dense tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels import _sparse_members as sparse
from torchada.areas.kernels._fallbacks import Fallbacks, composed, free_key, holds_numbers
from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Selection
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet
    from torch._ops import OpOverload

# torch.sparse.mm with `reduce`.
_ON_THE_CPU_ALONE = {"aten::_sparse_mm_reduce_impl", "aten::_sparse_mm_reduce_impl_backward"}
# By CUDA's key, the CPU's.
_KEYS = {"SparseCUDA": "SparseCPU", "SparseCsrCUDA": "SparseCsrCPU"}
# CUDA's kernels of products, which take no whole numbers; the CPU's do.
_PRODUCTS = {"sparse_coo": "addmm_sparse_cuda", "sparse_csr": "spmm"}
_BATCHED = "bmm_sparse_cuda"
_SIGNS = {"add": 1, "add_": 1, "sub": -1, "sub_": -1}
# They read or set what a tensor is made of, or look at it otherwise, on whatever device; the CPU's kernels are CUDA's, too.
_ON_ANY_DEVICE = frozenset(
    f"aten::{name}"
    for name in (
        *("_nnz", "sparse_dim", "dense_dim", "is_coalesced", "_coalesced_", "_indices", "_values", "indices", "values"),
        *("crow_indices", "col_indices", "ccol_indices", "row_indices"),
        *("sparse_resize_", "sparse_resize_and_clear_", "empty.memory_format", "_sparse_coo_tensor_with_dims"),
        *("_sparse_coo_tensor_with_dims_and_tensors", "is_same_size", "is_pinned"),
        *("permute", "unsqueeze", "view_as_complex", "view_as_real"),
    )
)


def patches(context: Context) -> Iterator[Patch]:
    keys = {free_key(context, of_cuda): of_cpu for of_cuda, of_cpu in _KEYS.items()}
    fallbacks = Fallbacks(context)
    for key, of_cpu in keys.items():
        products = ("mm", "addmm")
        fallback = _OnTheCpu(context, of_cpu, partial(composed, context, of_cpu, key, products))
        kernels = Selection(context)
        yield Patch(fallbacks, key, fallback, None, "emulated", "the CPU", note="torch.sparse")
        for name in products:
            product = _Product(context, key, name, fallback)
            yield Patch(kernels, name, product, None, "emulated", "operators of dense tensors", note="torch.sparse.mm")
        if of_cpu == "SparseCPU":
            for name in _SIGNS:
                total = _Sum(context, key, name, fallback)
                yield Patch(kernels, f"{name}.Tensor", total, None, "emulated", "dense operators", note="torch.sparse")


class _OnTheCpu:
    """Computes any operator on the CPU."""

    def __init__(self, context: Context, of_cpu: str, composed: Callable[[], list[str]]) -> None:
        native = context.torch._C
        self.composed = composed
        self._torch, self._device_type = context.torch, context.backend.device_type
        self._namespace = context.namespace
        self._cpu = native.DispatchKeySet(getattr(native.DispatchKey, of_cpu))

    def __call__(self, operator: OpOverload, *args: Any, **kwargs: Any) -> Any:
        if str(operator.name()) in _ON_THE_CPU_ALONE:  # type: ignore[no-untyped-call]
            raise NotImplementedError(f"PyTorch has '{operator}' for the CPU alone, and not for CUDA")
        if str(operator.name()) == "aten::bmm":  # type: ignore[no-untyped-call]
            _refuse_whole_numbers(self._torch, args[0], _BATCHED)
        if str(operator.name()) in _ON_ANY_DEVICE:  # type: ignore[no-untyped-call]
            device = kwargs.get("device")
            # A sparse tensor is made on the current device.
            with self._namespace.device(device) if device is not None else nullcontext():
                return operator.redispatch(self._cpu, *args, **kwargs)
        call = _Call(self._torch, self._device_type, copies="copy" in str(operator))
        here = call.moved(args), call.moved(kwargs)
        # A number that PyTorch has made a tensor of arrives here as a number again, and so for the type of the result.
        run = operator.overloadpacket if holds_numbers(operator, args) else operator
        result = run(*here[0], **here[1])
        given, there = ({**dict(enumerate(positional)), **named} for positional, named in ((args, kwargs), here))
        for position, argument in enumerate(operator._schema.arguments):
            place: Any = position if position < len(args) else argument.name
            if argument.alias_info is not None and argument.alias_info.is_write and place in given:
                call.write(given[place], there[place])
        return call.back(result)


class _Call:
    """The tensors of one call, here and on the CPU. `copies`: they may be on several devices."""

    def __init__(self, torch: Any, device_type: str, copies: bool) -> None:
        self._torch, self._device_type, self._copies = torch, device_type, copies
        # Of the tensors, and the one that the program asks for.
        self._device: Any = None
        self._wanted: Any = None
        self._originals: dict[int, Tensor] = {}

    def moved(self, value: Any) -> Any:
        """`value` with the CPU's tensors and device."""
        torch = self._torch
        if isinstance(value, torch.Tensor):
            return self._on_the_cpu(value)
        if isinstance(value, torch.device):
            self._wanted = value
            return torch.device("cpu")
        if isinstance(value, (list, tuple)):
            return [self.moved(item) for item in value]
        if isinstance(value, dict):
            return {name: self.moved(item) for name, item in value.items()}
        return value

    def _on_the_cpu(self, tensor: Tensor) -> Tensor:
        if tensor.device.type != self._device_type:
            if tensor.dim() and not self._copies:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but one is on {tensor.device}, and another on a "
                    f"{self._device_type} device"
                )
            return tensor
        if self._device not in (None, tensor.device) and not self._copies:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{self._device} and {tensor.device}!"
            )
        self._device = tensor.device
        there = sparse.moved(self._torch, tensor, self._torch.device("cpu"))
        self._originals[id(there)] = tensor
        return there

    def write(self, original: Any, value: Any) -> None:
        """Take over what an operator has written to an argument, a tensor or a list of tensors."""
        if isinstance(original, (list, tuple)):
            for pair in zip(original, value, strict=True):
                self.write(*pair)
        elif original is not None:
            sparse.write(self._torch, original, value)

    def back(self, value: Any) -> Any:
        """A result on the device; an argument that is returned is the program's own tensor."""
        if isinstance(value, self._torch.Tensor):
            original = self._originals.get(id(value))
            return sparse.moved(self._torch, value, self._wanted or self._device) if original is None else original
        if isinstance(value, (list, tuple)):
            return type(value)(self.back(item) for item in value)
        return value


def _refuse_whole_numbers(torch: Any, matrix: Tensor, kernel: str) -> None:
    if not matrix.is_floating_point() and not matrix.is_complex():
        kind = torch.empty(0, dtype=matrix.dtype).type().removeprefix("torch.").removesuffix("Tensor")
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind}'")


class _Product:
    """mm(matrix, dense) and addmm(input, matrix, dense) of a sparse matrix, on the device: each stored element adds a row."""

    def __init__(self, context: Context, key: str, name: str, fallback: _OnTheCpu) -> None:
        self.key = key
        self._torch, self._fallback, self._name = context.torch, fallback, name

    @cached_property
    def _operator(self) -> Any:
        return overload(self._torch, self._name)

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        *added, matrix, dense = args
        torch, layouts = self._torch, [argument.layout for argument in args]
        fits = layouts[-2] in (torch.sparse_coo, torch.sparse_csr) and set(layouts) == {layouts[-2], torch.strided}
        is_matrix = matrix.dim() == 2 and (layouts[-2] == torch.sparse_csr or matrix.dense_dim() == 0)
        is_matrix = is_matrix and dense.dim() == 2 and matrix.size(1) == dense.size(0)
        if not fits or layouts[-1] != torch.strided or not is_matrix or len({tensor.dtype for tensor in args}) > 1:
            # Where they do not go together, the CPU's kernel says so, in CUDA's words.
            return self._fallback(self._operator, *args, **kwargs)
        _refuse_whole_numbers(torch, matrix, _PRODUCTS[str(matrix.layout).removeprefix("torch.")])
        product = self._multiply(matrix, dense)
        return product if not added else self._sum(added[0], product, **kwargs)

    def _multiply(self, matrix: Tensor, dense: Tensor) -> Tensor:
        torch = self._torch
        rows, columns, values = sparse.rows_and_columns(torch, matrix)
        # cuSPARSE adds up half precision in single precision.
        dtype = torch.float32 if dense.dtype in (torch.float16, torch.bfloat16) else dense.dtype
        parts = values.to(dtype)[:, None] * dense.to(dtype)[columns]
        product: Tensor = torch.zeros(matrix.size(0), dense.size(1), dtype=dtype, device=dense.device)
        return product.index_add_(0, rows, parts).to(dense.dtype)

    def _sum(self, added: Tensor, product: Tensor, beta: float = 1, alpha: float = 1) -> Tensor:
        scaled = product if alpha == 1 else product * alpha
        added = added.expand(product.shape)
        return scaled + (added if beta == 1 else added * beta) if beta else scaled


class _Sum:
    """The sum of two COO tensors, on the device: the elements of both, as CUDA's."""

    def __init__(self, context: Context, key: str, name: str, fallback: _OnTheCpu) -> None:
        self.key = key
        self._torch, self._fallback = context.torch, fallback
        self._name, self._sign, self._in_place = name, _SIGNS[name], name.endswith("_")

    @cached_property
    def _operator(self) -> Any:
        return overload(self._torch, f"{self._name}.Tensor")

    def __call__(self, keys: DispatchKeySet, one: Any, other: Any, *, alpha: float = 1) -> Any:
        if not self._fits(one, other) or not self._has_rule(one, other, alpha):
            return self._fallback(self._operator, one, other, alpha=alpha)
        torch, factor = self._torch, self._sign * alpha
        dtype = torch.result_type(one, other)
        added = other._values().to(dtype)
        values = torch.cat([one._values().to(dtype), added if factor == 1 else added * factor])
        indices = torch.cat([one._indices(), other._indices()], 1)
        made = torch.sparse_coo_tensor(indices, values, one.shape, check_invariants=False)
        if made._nnz() > one.shape.numel() and one._nnz() and other._nnz():
            made = made.coalesce()  # as CUDA does, so that repeated sums do not grow for ever
        if not self._in_place:
            return made
        one.data = made
        return one

    def _fits(self, one: Any, other: Any) -> bool:
        coo = self._torch.sparse_coo
        if not all(isinstance(tensor, self._torch.Tensor) and tensor.layout == coo for tensor in (one, other)):
            return False
        alike = one.shape == other.shape and one.device == other.device
        of_its_type = not self._in_place or self._torch.result_type(one, other) == one.dtype
        return bool(alike and of_its_type and one._indices().size(0) == other._indices().size(0) > 0)

    def _has_rule(self, one: Tensor, other: Tensor, alpha: float) -> bool:
        """PyTorch has no differences of booleans, and no fraction of integers. The CPU's kernel says so, in CUDA's words."""
        dtype = self._torch.result_type(one, other)
        if self._sign < 0 and self._torch.bool in (one.dtype, other.dtype):
            return False
        return dtype.is_floating_point or dtype.is_complex or isinstance(alpha, int)
