"""Tensors on the device: where they are, what is in them, and what operations make of them."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

from torchada.testing.subject import Subject, expect

_TYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")


def made(subject: Subject) -> None:
    for make in (subject.torch.empty, subject.torch.zeros, subject.torch.ones):
        tensor, name = make(2, 3, device=subject.device(0)), make.__name__
        expect(tensor.device == subject.device(0), f"torch.{name}(device={subject.device(0)}) is on {tensor.device}")
        expect(tensor.data_ptr() != 0, f"a tensor of torch.{name} has no address")
        storage = tensor.untyped_storage().device
        expect(storage == tensor.device, f"the storage of a tensor on {tensor.device} is on {storage}")


def there_and_back(subject: Subject) -> None:
    torch = subject.torch
    for name in _TYPES:
        host = torch.arange(24).reshape(4, 6).to(getattr(torch, name))
        for shaped in (host, host.t(), host[::2, 1:]):
            back = shaped.to(subject.device(0)).to("cpu")
            expect(
                torch.equal(back, shaped),
                f"a copy of {name} with strides {shaped.stride()} there and back has lost data",
            )


def between_devices(subject: Subject) -> None:
    index = subject.another_device()
    host, own = subject.numbers(5, index=0)
    moved = own.to(subject.device(index))
    expect(moved.device == subject.device(index), f"a copy to {subject.device(index)} is on {moved.device}")
    subject.same(moved, host, "a copy between devices")


def views(subject: Subject) -> None:
    host, own = subject.numbers(4, 6)
    for tensor in (host, own):
        tensor[1:3, ::2].fill_(9)
        tensor.view(-1)[0] = 7
        tensor.t()[5].mul_(2)
    subject.same(own, host, "a tensor that is written to through views")


def arithmetic(subject: Subject) -> None:
    torch = subject.torch
    host, own = subject.numbers(4, 4)
    operations: dict[str, Any] = {
        "x + 1": lambda x: x + 1,
        "x @ x": lambda x: x @ x,
        "x.sum(0)": lambda x: x.sum(0),
        "torch.softmax(x, 1)": lambda x: torch.softmax(x, 1),
        "x.max(1).indices": lambda x: x.max(1).indices,
        "torch.where(x > 0, x, 0)": lambda x: torch.where(x > 0, x, 0),
        "torch.cat([x, x])": lambda x: torch.cat([x, x]),
        "torch.nonzero(x > 0)": lambda x: torch.nonzero(x > 0),
        "x[x > 0]": lambda x: x[x > 0],
        "torch.add(x, x, out=new)": lambda x: torch.add(x, x, out=torch.empty(0, device=x.device)),
        "x.clone().add_(x)": lambda x: x.clone().add_(x),
        "torch._foreach_add([x], 1)[0]": lambda x: torch._foreach_add([x], 1)[0],
    }
    for text, operation in operations.items():
        subject.same(operation(own), operation(host), text)


def numbers(subject: Subject) -> None:
    _, own = subject.numbers(3)
    expect(isinstance(own.sum().item(), float), "item() of a sum is no number")
    expect(own.tolist() == own.cpu().tolist(), "tolist() has other numbers than a copy on the CPU")


def mixed(subject: Subject) -> None:
    torch = subject.torch
    host, own = subject.numbers(3)
    mixtures: dict[str, Callable[[], Any]] = {
        "x + y": lambda: own + host,
        "torch.where(x > 0, x, y)": lambda: torch.where(own > 0, own, host),
    }
    for text, mix in mixtures.items():
        try:
            mix()
        except RuntimeError:
            continue
        expect(False, f"{text} is accepted for x on the device and y on the CPU; on CUDA it is an error")


def gradients(subject: Subject) -> None:
    torch = subject.torch
    grads = []
    for tensor in subject.numbers(4, 3):
        x = tensor.requires_grad_()
        torch.nn.functional.cross_entropy(x.tanh() * 3, torch.tensor([0, 2, 1, 0], device=x.device)).backward()
        grads.append(x.grad)
    expect(grads[1].device == subject.device(0), f"a gradient is on {grads[1].device}")
    subject.same(grads[1], grads[0], "a gradient")


def trained(subject: Subject) -> None:
    torch, losses = subject.torch, list[float]()
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).to(subject.device(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    _, x = subject.numbers(8, 3)
    for _ in range(10):
        optimizer.zero_grad()
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    expect(losses[-1] < losses[0], f"ten steps of AdamW do not lower a loss: {losses[0]:.3f} to {losses[-1]:.3f}")


def saved(subject: Subject) -> None:
    torch, file = subject.torch, io.BytesIO()
    host, own = subject.numbers(4)
    torch.save(own, file)
    for where in (None, "cpu"):
        file.seek(0)
        loaded = torch.load(file, map_location=where, weights_only=True)
        expected = own.device.type if where is None else where
        expect(loaded.device.type == expected, f"torch.load(map_location={where}) gives a tensor on {loaded.device}")
        subject.same(loaded, host, "a tensor that was saved and loaded")


def tagged(subject: Subject) -> None:
    _, own = subject.numbers(4)
    tag = subject.torch.serialization.location_tag(own.untyped_storage())
    # Where torchada redirects, files contain the names that a CUDA machine reads.
    expected = (f"{subject.backend.device_type}:0", "cuda:0")
    expect(tag in expected, f"torch.save notes {tag!r} as the place of a storage; it cannot be found again by that")


def copied(subject: Subject) -> None:
    host, own = subject.numbers(4)
    for how, again in (("pickle", pickle.loads(pickle.dumps(own))), ("copy.deepcopy", copy.deepcopy(own))):
        expect(again.device == own.device, f"{how} moves a tensor to {again.device}")
        subject.same(again, host, f"a tensor after {how}")
