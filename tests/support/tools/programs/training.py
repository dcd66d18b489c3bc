"""Modules, optimizers and the utilities around them."""

from __future__ import annotations

import copy
import importlib.util
import pathlib
import sys
import tempfile
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree


def custom_operators() -> Any:
    """`torch.library.custom_op` with a device annotation, eager and compiled"""

    @torch.library.custom_op("programs_cuda::made", mutates_args=(), device_types="cuda")
    def made(x: Tensor, device: torch.device) -> Tensor:
        return x.to(device) + torch.ones(2, device="cuda")

    @made.register_fake
    def _(x: Tensor, device: torch.device) -> Tensor:
        return torch.empty_like(x, device=device)

    x = torch.ones(2, device="cuda")
    compiled = torch.compile(lambda x: made(x, torch.device("cuda:0")), backend="aot_eager", fullgraph=True)
    return [
        made(x, torch.device("cuda:0")).tolist(),
        compiled(x).tolist(),
        str(made._opoverload._schema).partition("(")[2],
    ]


def module_hooks() -> Any:
    """hooks of modules and tensors on the device"""
    seen: list[str] = []
    model = nn.Linear(2, 2).cuda()
    model.register_forward_pre_hook(lambda m, args: tuple(x.cuda() for x in args))
    model.register_forward_hook(lambda m, args, y: seen.append(str(y.device)))
    model.register_full_backward_hook(lambda m, gi, go: seen.append(str(go[0].device)))
    model.weight.register_hook(lambda gradient: seen.append(str(gradient.device)))
    model(torch.ones(1, 2)).sum().backward()
    return seen


def state_dict_hooks() -> Any:
    """`load_state_dict` from the CPU, hooks, `assign=True`"""
    model = nn.Linear(2, 2).cuda()
    model.load_state_dict(nn.Linear(2, 2).state_dict())
    first = str(model.weight.device)
    model.load_state_dict(nn.Linear(2, 2, device="cuda:1").state_dict(), assign=True)
    return [first, str(model.weight.device)]


def parametrizations() -> Any:
    """parametrizations: `weight_norm`, `spectral_norm`, `orthogonal`, moved with `.cuda()`"""
    answers = []
    for parametrize in (nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm):
        model = parametrize(nn.Linear(3, 3)).cuda()
        model(torch.ones(1, 3, device="cuda")).sum().backward()
        answers.append([str(model.weight.device), {str(p.grad.device) for p in model.parameters()}])
    return answers


def pruning() -> Any:
    """`torch.nn.utils.prune` on the device"""
    from torch.nn.utils import prune

    model = prune.l1_unstructured(nn.Linear(4, 4).cuda(), "weight", amount=0.5)
    return [str(model.weight_mask.device), int((model.weight == 0).sum())]


def skip_init() -> Any:
    """`nn.utils.skip_init(nn.Linear, 2, 2, device="cuda")`"""
    return str(nn.utils.skip_init(nn.Linear, 2, 2, device="cuda").weight.device)


def fused_layers() -> Any:
    """`fuse_conv_bn_eval` of layers on the device"""
    conv, norm = nn.Conv2d(1, 1, 1).cuda().eval(), nn.BatchNorm2d(1).cuda().eval()
    return str(nn.utils.fusion.fuse_conv_bn_eval(conv, norm).weight.device)


def meta_modules() -> Any:
    """`with torch.device("meta")`, then `to_empty(device="cuda")`"""
    with torch.device("meta"):
        model = nn.Linear(2, 2)
    return str(model.to_empty(device="cuda").weight.device)


def copies() -> Any:
    """`copy.deepcopy` of a module with tied weights on the device"""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    copied = copy.deepcopy(model.cuda())
    assert copied[0].weight is copied[1].weight
    return str(copied[0].weight.device)


def swapped_parameters() -> Any:
    """`torch.__future__.set_swap_module_params_on_conversion(True)` and `.cuda()`"""
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        model = nn.Linear(2, 2)
        weight = model.weight
        return [model.cuda().weight is weight, str(weight.device)]
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def pytrees() -> Any:
    """`torch.utils._pytree` with devices for leaves and `.cuda()` mapped over it"""
    tree = {"x": torch.ones(1), "place": [torch.device("cuda:1"), ("cuda", 3)]}
    leaves, spec = pytree.tree_flatten(tree)
    moved = pytree.tree_map_only(Tensor, lambda x: x.cuda(), tree)
    assert pytree.tree_unflatten(leaves, spec)["place"] == tree["place"]
    return [str(moved["x"].device), [str(d) for d in pytree.tree_leaves(tree) if isinstance(d, torch.device)]]


def averaged_models() -> Any:
    """`AveragedModel(model, device="cuda")` and `update_bn`"""
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).cuda()
    averaged = torch.optim.swa_utils.AveragedModel(model, device="cuda:1")
    averaged.update_parameters(model)
    torch.optim.swa_utils.update_bn([torch.ones(3, 2)], averaged, device="cuda:1")
    return str(averaged.module[0].weight.device)


def local_hub() -> Any:
    """`torch.hub.load` of a local repository whose code says cuda"""
    with tempfile.TemporaryDirectory() as folder:
        source = "import torch\n\ndef model(device='cuda'):\n    return torch.nn.Linear(2, 2, device=device)\n"
        pathlib.Path(folder, "hubconf.py").write_text(source)
        return str(torch.hub.load(folder, "model", source="local").weight.device)


def loaded_files() -> Any:
    """a Python file loaded by hand, with `from torch import zeros, device`"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "loaded_by_hand.py")
        path.write_text("from torch import zeros, device\nPLACE = device('cuda:1')\nx = zeros(2, device=PLACE)\n")
        spec = importlib.util.spec_from_file_location("loaded_by_hand", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["loaded_by_hand"] = module
        spec.loader.exec_module(module)
        del sys.modules["loaded_by_hand"]
        return [str(module.x.device), module.PLACE]


def subclassed_autocast() -> Any:
    """a subclass of `torch.autocast`, and the decorator on a method"""

    class Half(torch.autocast):
        def __init__(self) -> None:
            super().__init__("cuda", dtype=torch.bfloat16)

    class Model(nn.Module):
        @torch.autocast("cuda", dtype=torch.float16)
        def forward(self, x: Tensor) -> Tensor:
            return x @ x

    x = torch.ones(2, 2, device="cuda")
    with Half():
        first = (x @ x).dtype
    return [str(first), str(Model()(x).dtype), isinstance(Half(), torch.autocast)]


def data_types_of_storage() -> Any:
    """storages of the device: `is_cuda`, `.cuda()`, `.device`, copies"""
    storage = torch.ones(2, device="cuda").untyped_storage()
    moved = torch.ones(2).untyped_storage().cuda()
    return [storage.is_cuda, str(storage.device), str(moved.device), str(copy.deepcopy(storage).device)]


def saved_tensors_hooks() -> Any:
    """`saved_tensors_hooks` and `save_on_cpu` around work on the device"""
    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.cuda()):
        z = (x * x * x).sum()
    (y + z).backward()
    return x.grad.tolist()


def anomaly_and_gradcheck() -> Any:
    """`detect_anomaly` and `gradcheck` on the device"""
    x = torch.ones(2, device="cuda", dtype=torch.float64, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        return torch.autograd.gradcheck(lambda x: (x.to("cuda:0") * torch.full((2,), 3.0, device="cuda")).sum(), (x,))


def data_loaders() -> Any:
    """a `DataLoader` with a generator of the CPU and a collate function that moves to the device"""
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.arange(4.0)),
        batch_size=2,
        generator=torch.Generator().manual_seed(1),
        collate_fn=lambda rows: torch.stack([row[0] for row in rows]).cuda(),
    )
    return [[str(batch.device), batch.tolist()] for batch in loader]


def recurrent_packs() -> Any:
    """packed sequences: `.cuda()`, `.is_cuda`, `.to("cuda:1")`"""
    packed = nn.utils.rnn.pack_sequence([torch.ones(2, 1), torch.ones(1, 1)])
    moved = packed.cuda()
    return [moved.is_cuda, str(moved.data.device), str(packed.to("cuda:1").data.device), packed.is_cuda]


def quantized() -> Any:
    """fake quantization observers on the device"""
    from torch.ao.quantization import FakeQuantize

    observer = FakeQuantize().cuda()
    y = observer(torch.linspace(0, 1, 4, device="cuda"))
    return [str(observer.scale.device), str(y.device)]


def threads() -> Any:
    """`torch.set_default_device` and autocast stay in their thread"""
    import threading

    answers: list[str] = []
    with torch.device("cuda"), torch.autocast("cuda", dtype=torch.bfloat16):
        thread = threading.Thread(
            target=lambda: answers.extend([str(torch.ones(1).device), str(torch.is_autocast_enabled("cuda"))])
        )
        thread.start()
        thread.join()
    return answers


def optimizers() -> Any:
    """optimizers: `foreach`, `fused`, `capturable`, and their state's device"""
    answers = []
    for options in ({"foreach": True}, {"fused": True}, {"capturable": True}):
        parameter = nn.Parameter(torch.ones(2, device="cuda"))
        optimizer = torch.optim.Adam([parameter], lr=0.5, **options)
        parameter.grad = torch.ones(2, device="cuda")
        optimizer.step()
        state = optimizer.state[parameter]
        # Kernels of Adam differ in the last digits, CUDA's from PyTorch's own loops as well.
        values = [round(value, 4) for value in parameter.tolist()]
        answers.append([values, str(state["exp_avg"].device), str(state["step"].device)])
    return answers
