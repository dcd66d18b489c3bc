"""Tensors, modules and checkpoints on the host: a program for CUDA finds them where it has put them."""

from __future__ import annotations

import textwrap

import pytest

from support.interpreter import Interpreter

pytestmark = pytest.mark.once


def test_devices(host: Interpreter) -> None:
    code = """
        import torch
        assert torch.device("cuda") == torch.device("cuda") != torch.device("cpu")
        assert str(torch.device("cuda:0")) == "cuda:0" and torch.device(0).type == "cuda"
        for make in (torch.zeros, torch.ones, torch.randn, torch.empty):
            x = make(3, device="cuda")
            assert x.device == torch.device("cuda:0") and x.is_cuda and not x.is_cpu and x.get_device() == 0
            assert not make(3).is_cuda and make(3).device.type == "cpu" == make(3, device="cpu").device.type
        assert torch.zeros(3, device=torch.device("cuda")).device == torch.zeros(3, device=0).device
        assert torch.zeros_like(torch.zeros(1)).device.type == "cpu" and torch.zeros(1).new_ones(2).device.type == "cpu"
        assert torch.zeros(1).new_ones(2, device="cuda").is_cuda and torch.zeros_like(x).is_cuda
        assert torch.ops.aten.zeros([2], device=torch.device("cuda")).is_cuda
        assert (x + x).device == x.device and "device='cuda:0'" in repr(x) and "device" not in repr(torch.zeros(1))
        assert torch.zeros(2, device="cuda").type() == "torch.cuda.FloatTensor"
        assert torch.cuda.FloatTensor([1.0]).is_cuda and isinstance(x, torch.cuda.FloatTensor)
        with torch.device("cuda"):
            assert torch.zeros(2).is_cuda
        torch.set_default_device("cuda")
        assert torch.zeros(2).is_cuda and torch.get_default_device() == torch.device("cuda:0")
        try:
            torch.zeros(1, device="cuda:1")
        except RuntimeError as error:
            assert "invalid device ordinal 1: the host has 1 device(s)" in str(error)
        else:
            raise SystemExit("made a tensor on a device that does not exist")
        assert torch.zeros(1, device="meta").device.type == "meta"
    """
    host.run(code, forked=True)


def test_moves_are_copies_as_on_cuda(host: Interpreter) -> None:
    code = """
        import numpy, torch
        x = torch.ones(3, device="cuda")
        y = x.cpu()
        x.zero_()
        assert y.tolist() == [1, 1, 1] and y.device.type == "cpu" and y.cpu() is y
        assert x.cuda() is x and x.to("cuda") is x and x.to(device="cuda:0") is x and x.to(x) is x
        for move in (lambda t: t.cuda(), lambda t: t.to("cuda"), lambda t: t.to(x), lambda t: t.cuda("cuda:0", True),
                     lambda t: t.to(torch.device("cuda"), non_blocking=True), lambda t: t.to(device="cuda")):
            array = numpy.ones(3, dtype=numpy.float32)
            source = torch.from_numpy(array)
            moved = move(source)
            array[:] = 5
            assert moved.tolist() == [1, 1, 1] and moved.is_cuda and not source.is_cuda
        half = torch.ones(2).to("cuda", torch.float16)
        assert half.is_cuda and half.dtype is torch.float16
        assert torch.ones(2).to(torch.float64).device.type == "cpu" and x.to(torch.float64).is_cuda
        leaf = torch.ones(2, requires_grad=True)
        (leaf.cuda() * 3).sum().backward()
        assert leaf.grad.tolist() == [3, 3]
        view = torch.zeros(4)[1:]
        assert view.device.type == "cpu" and view.cuda().data_ptr() != view.data_ptr()
        for wrong in ("cpu", "meta"):
            try:
                x.cuda(wrong)
            except RuntimeError as error:
                assert "must be cuda device" in str(error)
            else:
                raise SystemExit(wrong)
    """
    host.run(code, forked=True)


def test_modules_and_optimizers(host: Interpreter) -> None:
    code = """
        import copy, torch
        from torch import nn
        net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
        assert {p.device.type for p in net.parameters()} == {"cpu"}
        parameters = list(net.parameters())
        for move in (lambda m: m.cuda(), lambda m: m.to("cuda"), lambda m: m.to(0), lambda m: m.to(torch.ones(1, device="cuda"))):
            net.cpu()
            assert {p.device.type for p in net.parameters()} == {"cpu"}
            move(net)
            assert {p.device for p in net.parameters()} == {b.device for b in net.buffers()} == {torch.device("cuda:0")}
            assert all(a is b for a, b in zip(parameters, net.parameters(), strict=True))
        best = {name: value.cpu() for name, value in net.state_dict().items()}
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
        net(torch.randn(8, 4, device="cuda")).square().mean().backward()
        optimizer.step()
        assert not torch.equal(best["0.weight"], net[0].weight.cpu())
        net.load_state_dict(best)
        assert torch.equal(best["0.weight"], net[0].weight.cpu()) and net[0].weight.is_cuda
        lazy = nn.LazyLinear(3).cuda()
        assert lazy(torch.ones(1, 2, device="cuda")).is_cuda
        packed = nn.utils.rnn.pack_sequence([torch.ones(3, 2, device="cuda"), torch.ones(2, 2, device="cuda")])
        assert packed.is_cuda and nn.LSTM(2, 2).cuda()(packed)[0].data.is_cuda
        assert {t.device for t in copy.deepcopy(net).state_dict().values()} == {torch.device("cuda:0")}
        assert {t.device.type for t in copy.deepcopy(net.cpu()).state_dict().values()} == {"cpu"}
    """
    host.run(code, forked=True)


def test_checkpoints(host: Interpreter, plain: Interpreter) -> None:
    code = """
        import torch
        torch.save({"device": torch.ones(2, device="cuda"), "cpu": torch.ones(2)}, "state.pt")
        text = open("state.pt", "rb").read()
        assert b"cuda:0" in text and b"cpu" in text
        places = lambda **options: [str(t.device) for t in torch.load("state.pt", **options).values()]
        assert places() == ["cuda:0", "cpu"]
        assert places(map_location="cpu") == places(map_location=lambda storage, location: storage) == ["cpu", "cpu"]
        assert places(map_location="cuda") == places(map_location=torch.device("cuda")) == ["cuda:0", "cuda:0"]
        assert places(map_location={"cuda:0": "cpu"}) == ["cpu", "cpu"]
        assert places(map_location=lambda storage, location: storage.cuda(0)) == ["cuda:0", "cuda:0"]
        assert places(mmap=True, map_location="cuda") == ["cuda:0", "cuda:0"]
    """
    host.run(code, forked=True)
    plain.cwd = host.cwd
    read = "import torch; print(torch.load('state.pt', map_location='cpu')['device'].tolist())"
    assert plain.run(read, forked=True).stdout.strip() == "[1.0, 1.0]"


def test_code_for_other_devices_is_told_the_truth(host: Interpreter) -> None:
    code = """
        import torch
        x, other = torch.zeros(2, device="cuda"), "musa"
        print(torch.cuda.is_available(), x.device, x.is_cuda)
    """
    assert host.run(code, forked=True).stdout.split() == ["False", "cpu", "False"]


def test_storages_that_are_gone_are_forgotten(host: Interpreter) -> None:
    code = """
        import torch
        for _ in range(5000):
            torch.zeros(2)
        from torchada.areas.host._places import places_of
        assert len(places_of(torch)._index) < 2100
    """
    host.run(code, env={"TORCHADA_VIEW": "cuda"}, forked=True)


def test_what_torch_makes_beside_a_tensor_is_where_that_is(host: Interpreter) -> None:
    """torch itself sees the CPU, and makes and moves tensors with the devices of others."""
    code = """
        import copy, torch
        net = torch.nn.Linear(3, 3).cuda()
        places = lambda optimizer: {k: str(v.device) for k, v in optimizer.state[net.weight].items()}
        for kind, options, step in (
            (torch.optim.AdamW, {}, "cpu"), (torch.optim.SGD, {"momentum": 0.9}, None),
            (torch.optim.Adam, {"capturable": True}, "cuda:0"),
        ):
            optimizer, again = (kind(net.parameters(), lr=0.1, **options) for _ in range(2))
            net(torch.ones(2, 3, device="cuda")).sum().backward()
            optimizer.step()
            torch.save(optimizer.state_dict(), "state.pt")
            own = optimizer.state_dict()
            for state in (own, copy.deepcopy(own), torch.load("state.pt", map_location="cpu")):
                again.load_state_dict(state)
                assert places(again) == places(optimizer) and set(places(again).values()) <= {"cuda:0", step}, places(again)
                assert places(again).get("step") == step
        mean, deviation = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
        normal, choice = torch.distributions.Normal(mean, deviation), torch.distributions.Categorical(deviation)
        made = [normal.sample(), normal.rsample((2,)), choice.sample(), choice.enumerate_support()]
        made += [torch.nn.GRU(2, 2).cuda()(torch.ones(1, 1, 2, device="cuda"))[1]]
        assert all(x.is_cuda for x in made), [x.device for x in made]
        assert not torch.distributions.Normal(torch.zeros(1), torch.ones(1)).sample().is_cuda
        assert mean.is_cuda and deviation.is_cuda
    """
    host.run(code, forked=True)


def test_functions_that_are_given_tensors_follow_them(host: Interpreter) -> None:
    code = """
        import torch
        x, y = torch.ones(3, device="cuda"), torch.ones(3)
        assert torch.as_tensor(x) is x and x.is_cuda and torch.asarray(x).is_cuda and x.is_cuda
        assert torch.as_tensor(y) is y and not torch.asarray(y).is_cuda and not torch.as_tensor([1.0]).is_cuda
        assert torch.normal(x, x).is_cuda and torch.normal(0.0, x).is_cuda and torch.normal(mean=x).is_cuda
        assert not torch.normal(y, y).is_cuda and not torch.normal(0.0, 1.0, (2,)).is_cuda
        assert x.is_cuda and not y.is_cuda
    """
    host.run(code, forked=True)


def test_types_by_their_old_names(host: Interpreter) -> None:
    code = """
        import torch
        x = torch.ones(2, device="cuda")
        for name in ("torch.FloatTensor", "torch.DoubleTensor", torch.FloatTensor, torch.DoubleTensor):
            y = x.type(name)
            y.zero_()
            assert not y.is_cuda and x.tolist() == [1, 1], name
        assert x.type("torch.cuda.DoubleTensor").is_cuda and x.type(torch.float64).is_cuda and x.type(torch.float32).is_cuda
        assert not torch.ones(2).type("torch.DoubleTensor").is_cuda and torch.ones(2).type("torch.cuda.FloatTensor").is_cuda
    """
    host.run(code, forked=True)


def test_storages_and_devices_of_things(host: Interpreter) -> None:
    code = """
        import torch
        x, y = torch.ones(2, device="cuda:1"), torch.ones(2)
        for thing in (x, x.untyped_storage()):
            assert thing.is_cuda and thing.get_device() == 1
            with torch.cuda.device_of(thing):
                assert torch.cuda.current_device() == 1
        assert not y.untyped_storage().is_cuda
        with torch.cuda.device_of(y):
            assert torch.cuda.current_device() == 0
        second = torch.cuda.device(1)
        assert torch.cuda.Stream(second).device_index == 1 and torch.cuda.get_device_name(second)
    """
    host.run(code, env={"CUDA_VISIBLE_DEVICES": "0,1"}, forked=True)


def test_sparse_and_nested_tensors_have_the_cpus_kernels(host: Interpreter) -> None:
    code = """
        import torch
        from torch import nn
        eye, x = torch.eye(3, device="cuda"), torch.arange(6.0, device="cuda").view(3, 2)
        sparse = eye.to_sparse()
        assert torch.equal(sparse.to_dense(), eye) and torch.equal((sparse + sparse).to_dense(), eye * 2)
        assert torch.equal(eye + sparse, eye * 2) and torch.equal((eye - sparse).to_dense(), eye * 0)
        assert torch.equal(sparse @ x, x) and torch.equal(torch.sparse.sum(sparse, 0).to_dense(), torch.ones(3))
        rows = sparse.to_sparse_csr()
        assert torch.equal(rows @ x, x) and torch.equal((rows @ rows).to_dense(), eye)
        table = nn.Embedding(4, 2, sparse=True).cuda()
        nn.init.ones_(table.weight)
        optimizer = torch.optim.SGD(table.parameters(), lr=0.5)
        for _ in range(2):
            table(torch.tensor([1, 2, 1], device="cuda")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        assert table.weight[:, 0].tolist() == [1, -1, 0, 1] and table.weight.is_cuda
        nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], device="cuda", requires_grad=True)
        doubled = (nested + nested) * nested
        assert torch.nested.to_padded_tensor(doubled, 0.0).sum() == 36
        torch.nested.to_padded_tensor(doubled, 0.0).sum().backward()
        assert torch.nested.to_padded_tensor(nested.grad, 0.0).sum() == 72
    """
    host.run(["-W", "ignore::UserWarning", "-c", textwrap.dedent(code)])
