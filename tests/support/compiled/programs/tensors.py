"""Tensors, storages and modules."""

from __future__ import annotations

import io
from typing import Any

import torch

from support.compiled.program import Programs

PROGRAMS = Programs()


@PROGRAMS.add("torch.Tensor.to")
def to(x: torch.Tensor) -> Any:
    host = x.to("cpu")
    return host, host.to("cuda:1"), host.to(torch.device("cuda", 0), torch.float64), host.to(device="cuda", copy=True)


@PROGRAMS.add()
def to_by_keyword(x: torch.Tensor) -> Any:
    return x.to(dtype=torch.float16, device="cuda:1"), x.to(x.cpu()), x.to("cuda", torch.int32, non_blocking=True)


@PROGRAMS.add("torch.Tensor.cuda")
def to_default(x: torch.Tensor) -> Any:
    host = x.cpu()
    return host.cuda(), host.cuda(1) * 2, host.cuda("cuda:1", non_blocking=True), host.cuda(torch.device("cuda:1"))


@PROGRAMS.add()
def to_another_device(x: torch.Tensor) -> Any:
    return x.cuda("cpu")


@PROGRAMS.add("torch.Tensor.is_cuda")
def on_device(x: torch.Tensor) -> Any:
    return x * 2 if x.is_cuda else x * 3, x.is_cuda, x.cpu().is_cuda, x.to("cuda:1").is_cuda


@PROGRAMS.add()
def device_type(x: torch.Tensor) -> Any:
    y = x * 2 if x.device.type == torch.device("cuda").type else x * 3
    return y, x.device == torch.device("cuda:0"), x.device, x.device.index, x.get_device()


@PROGRAMS.add("torch.Tensor.new_empty", "torch.Tensor.new_empty_strided")
def new_empty(x: torch.Tensor) -> Any:
    host = x.cpu()
    one = host.new_empty((2, 2), device="cuda").fill_(1)
    return one, host.new_empty_strided((2, 2), (1, 2), device="cuda:1", dtype=torch.int32).fill_(2)


@PROGRAMS.add("torch.Tensor.new_full", "torch.Tensor.new_ones", "torch.Tensor.new_zeros", "torch.Tensor.new_tensor")
def new_filled(x: torch.Tensor) -> Any:
    host = x.cpu()
    filled = (
        host.new_full((2,), 7.0, device="cuda:1"),
        host.new_ones(3, device="cuda"),
        host.new_zeros(3, device=torch.device("cuda")),
    )
    return filled, host.new_tensor([1.0, 2.0], device="cuda")


@PROGRAMS.add("torch.Tensor.new")
def new(x: torch.Tensor) -> Any:
    return x.new(2, device="cuda").fill_(1), x.new([1.0])


@PROGRAMS.add("torch.Tensor.type")
def type_(x: torch.Tensor) -> Any:
    return x.type(torch.float64), x.cpu().type("torch.cuda.DoubleTensor") + 1, x.cpu().type(torch.cuda.IntTensor)


@PROGRAMS.add(native=False)
def type_name(x: torch.Tensor) -> Any:
    return x.type(), x.cpu().type(), x * 2


@PROGRAMS.add("torch.Tensor.pin_memory", "torch.Tensor.is_pinned", differs="torch's fake tensors cannot be pinned")
def pinned(x: torch.Tensor) -> Any:
    host = x.cpu().pin_memory()
    return host.is_pinned(), host.to("cuda", non_blocking=True)


@PROGRAMS.add("torch.Tensor.data", native=False)
def data(x: torch.Tensor) -> Any:
    host = torch.ones(3)
    host.data = x.data * 2
    return host + 1


@PROGRAMS.add(
    "torch.Tensor.__dlpack__",
    "torch.Tensor.__dlpack_device__",
    native=False,
    differs="torch.compile cannot trace DLPack, on CUDA too",
)
def dlpack(x: torch.Tensor) -> Any:
    return x.__dlpack_device__()[1], type(x.__dlpack__()).__name__, x + 1


@PROGRAMS.add(
    "torch.Tensor.__cuda_array_interface__",
    native=False,
    differs="torch.compile answers hasattr of a tensor by its class, on the CPU too",
)
def array_interface(x: torch.Tensor) -> Any:
    return hasattr(x, "__cuda_array_interface__"), x + 1


@PROGRAMS.add("torch.storage.UntypedStorage.is_cuda", "torch.storage.TypedStorage.is_cuda")
def storage(x: torch.Tensor) -> Any:
    return x.untyped_storage().is_cuda, x.cpu().untyped_storage().is_cuda, x + 1


@PROGRAMS.add("torch.storage.UntypedStorage.__new__")
def new_storage(x: torch.Tensor) -> Any:
    return torch.UntypedStorage(4, device="cuda").device, x + 1


@PROGRAMS.add("torch.serialization._package_registry", "torch.Tensor._reduce_ex_internal", "torch.device.__reduce__")
def saved(x: torch.Tensor) -> Any:
    file = io.BytesIO()
    torch.save({"x": x, "device": x.device}, file)
    file.seek(0)
    found = torch.load(file, map_location="cuda:1")
    return found["x"] + 1, found["device"]


@PROGRAMS.add("torch._ops.OpOverload.__call__", "torch._ops.OpOverloadPacket.__call__")
def operators(x: torch.Tensor) -> Any:
    ops = torch.ops.aten
    made = ops.zeros.default([2], device="cuda"), ops.ones([2], device=torch.device("cuda:1"))
    return made, ops.full([2], 3.0, dtype=torch.float64, device="cuda:1"), ops._to_copy(x, device="cpu")


@PROGRAMS.add("torch._C._nn._parse_to", "torch._has_compatible_shallow_copy_type")
def module_to(x: torch.Tensor) -> Any:
    torch.manual_seed(1)
    layer = torch.nn.Linear(4, 2)
    layer.to("cuda")
    return layer(x).detach(), layer.to(torch.device("cuda:1"), torch.float64).bias.device


@PROGRAMS.add(
    native=False, differs="in one graph, a parameter cannot be given the data of another device; it becomes a new one"
)
def module_keeps_parameters(x: torch.Tensor) -> Any:
    layer = torch.nn.Linear(4, 2)
    before = layer.weight
    layer.to("cuda")
    return layer.weight is before, layer.weight.device


@PROGRAMS.add()
def module_to_and_fro(x: torch.Tensor) -> Any:
    layer = torch.nn.Linear(4, 2).to(x.device)
    made = list(layer(x).shape)
    return (
        made,
        layer.to(torch.device("cpu")).weight.device,
        layer.to(dtype=torch.float64, device=x.device).weight.dtype,
    )


@PROGRAMS.add()
def module_to_default(x: torch.Tensor) -> Any:
    layer = torch.nn.BatchNorm1d(4)
    layer.cuda()
    layer.cuda(0)
    return layer.running_mean.device, layer.weight.detach() * x, layer.to_empty(device="cuda:1").bias.device


@PROGRAMS.add("nn.TransformerEncoder(src_key_padding_mask=...) (_transformer_encoder_layer_fwd)", native=False)
def padded_encoder(x: torch.Tensor) -> Any:
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, device="cuda").eval()
    encoder = torch.nn.TransformerEncoder(layer, 1, mask_check=False).eval()
    padding = torch.tensor([[False, True]], device="cuda")
    with torch.no_grad():
        return encoder(x.reshape(1, 1, 4).expand(1, 2, 4), src_key_padding_mask=padding)


@PROGRAMS.add("torch.nn.parameter.UninitializedTensorMixin._allowed_methods", native=False)
def lazy_module(x: torch.Tensor) -> Any:
    layer = torch.nn.LazyLinear(2).to("cuda")
    layer(x)
    return layer.weight.device, list(layer.weight.shape)


@PROGRAMS.add()
def module_on_device(x: torch.Tensor) -> Any:
    layer = torch.nn.Linear(4, 2, device="cuda", dtype=torch.float64)
    torch.nn.init.ones_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    return layer(x.double()).detach()


@PROGRAMS.add("torch.autograd.graph.save_on_cpu.__init__")
def save_on_cpu(x: torch.Tensor) -> Any:
    y = x.detach().clone().requires_grad_()
    with torch.autograd.graph.save_on_cpu(pin_memory=True, device_type="cuda"):
        z = (y * y).sum()
    z.backward()
    return y.grad


@PROGRAMS.add("torch.set_default_tensor_type", native=False)
def default_tensor_type(x: torch.Tensor) -> Any:
    torch.set_default_tensor_type("torch.cuda.DoubleTensor")
    made = torch.ones(2)
    torch.set_default_tensor_type("torch.FloatTensor")
    return made + 1, torch.ones(2)


@PROGRAMS.add(differs="torch.compile knows the legacy classes of the CPU only, on CUDA too")
def legacy_classes(x: torch.Tensor) -> Any:
    return isinstance(x, torch.cuda.FloatTensor), isinstance(x, torch.cuda.HalfTensor), x + 1


@PROGRAMS.add()
def in_comparisons(x: torch.Tensor) -> Any:
    names = {torch.device("cuda:0"): 1, torch.device("cpu"): 2}
    return names[x.device], names[x.cpu().device], isinstance(x.device, torch.device), str(x.device), x + 1
