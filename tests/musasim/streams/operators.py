"""Operators of PyTorch on streams. Each of PLANTED gives 1 to 64 where it waits, and RIGHT programs give the same with any seed."""

import threading
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

side, other = torch.cuda.Stream(), torch.cuda.Stream()
main = torch.cuda.current_stream()


def given() -> Tensor:
    """1 to 64, on the device for certain. Whatever had the memory of what comes next, on any stream, it was not this."""
    for stream in (main, side, other):
        with torch.cuda.stream(stream):
            [torch.full((64,), 7.0, device="cuda") for _ in range(8)]
    x = torch.arange(1.0, 65, device="cuda")
    torch.cuda.synchronize()
    return x


# --- with a fault, unless they wait ---


def a_side_stream_reads_too_early(wait: bool) -> Tensor:
    y = given() * 2
    if wait:
        side.wait_stream(main)
    with torch.cuda.stream(side):
        z = y / 2
    side.synchronize()
    return z


def the_default_stream_reads_too_early(wait: bool) -> Tensor:
    x = given()
    with torch.cuda.stream(side):
        y = x * 2
    if wait:
        main.wait_stream(side)
    return y / 2


def one_number_is_read_too_early(wait: bool) -> Tensor:
    x = given()
    with torch.cuda.stream(side):
        total = x.sum()
    if wait:
        side.synchronize()
    return torch.arange(1.0, 65) + (total.item() - 2080)


def the_host_reads_too_early(wait: bool) -> Tensor:
    result = torch.zeros(64, pin_memory=True)
    result.copy_(given() * 1, non_blocking=True)
    if wait:
        torch.cuda.synchronize()
    return result.clone()


def the_host_reads_what_to_cpu_has_not_brought(wait: bool) -> Tensor:
    torch.zeros(64, pin_memory=True).fill_(9)
    result = given().to("cpu", non_blocking=True)
    if wait:
        main.record_event().synchronize()
    return result.clone()


def the_host_overwrites_too_early(wait: bool) -> Tensor:
    batch = torch.arange(1.0, 65).pin_memory()
    y = batch.to("cuda", non_blocking=True)
    if wait:
        main.synchronize()
    batch.zero_()
    return y


def an_event_is_recorded_too_early(wait: bool) -> Tensor:
    x, event = given(), torch.cuda.Event()
    if not wait:
        event.record()
    y = x * 2
    if wait:
        event.record()
    with torch.cuda.stream(side):
        side.wait_event(event)
        z = y / 2
    side.synchronize()
    return z


def it_waits_for_another_stream(wait: bool) -> Tensor:
    x = given()
    with torch.cuda.stream(side):
        y = x * 2
    main.wait_stream(side if wait else other)
    return y / 2


def memory_is_used_again(wait: bool) -> Tensor:
    y = given().expand(8192, 64).contiguous()  # nothing else is of this size, so the next one gets its memory
    side.wait_stream(main)
    with torch.cuda.stream(side):
        z = y[0] * 1
    if wait:
        y.record_stream(side)
    del y
    taken = torch.full((8192, 64), 5.0, device="cuda")
    side.synchronize()
    del taken
    return z


def it_is_changed_while_it_is_read(wait: bool) -> Tensor:
    x = given()
    with torch.cuda.stream(side):
        z = x * 1
    if wait:
        main.wait_stream(side)
    x.zero_()
    torch.cuda.synchronize()
    return z


def both_write(wait: bool) -> Tensor:
    x, y = given(), torch.zeros(64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        y.fill_(3)
    if wait:
        main.wait_stream(side)
    y.copy_(x)
    torch.cuda.synchronize()
    return y


def a_matrix_is_read_too_early(wait: bool) -> Tensor:
    x = given()
    matrix = torch.eye(64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        y = torch.mv(matrix, x)
    if wait:
        main.wait_stream(side)
    return F.relu(y)


def random_numbers_are_read_too_early(wait: bool) -> Tensor:
    x = given()
    with torch.cuda.stream(side):
        y = torch.rand(64, device="cuda") + 1
    if wait:
        main.wait_stream(side)
    return torch.where((y >= 1) & (y < 2), x, 0 * x)


def a_gradient_is_read_too_early(wait: bool) -> Tensor:
    x = given().requires_grad_()
    with torch.cuda.stream(side):
        loss = x.square().sum() / 2
        (gradient,) = torch.autograd.grad(loss, x)
    if wait:
        main.wait_stream(side)
    return gradient * 1


def places_are_read_too_early(wait: bool) -> Tensor:
    x = given()
    places = torch.arange(64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        y = x[places]
    if wait:
        main.wait_stream(side)
    return y * 1


# --- always right ---


def a_chain_of_streams() -> Tensor:
    y = given()
    for stream in (side, other, main, side):
        before = torch.cuda.current_stream()
        stream.wait_stream(before)
        with torch.cuda.stream(stream):
            y = y.mul(3).sub_(1)
        before.wait_stream(stream)
    return y


def a_loader_that_copies_ahead() -> Tensor:
    batches = [torch.full((64,), float(i)).pin_memory() for i in range(6)]
    ahead, total = None, torch.zeros((), device="cuda")
    for batch in [*batches, None]:
        main.wait_stream(side)
        now, ahead = ahead, None
        if batch is not None:
            with torch.cuda.stream(side):
                ahead = batch.to("cuda", non_blocking=True) * 2
        if now is not None:
            now.record_stream(main)
            total += (now * now).sum()
    return total


def memory_that_was_registered() -> Tensor:
    import numpy

    numbers = numpy.arange(1.0, 65, dtype=numpy.float32)
    batch = torch.from_numpy(numbers)
    runtime = torch.cuda.cudart()
    assert int(runtime.cudaHostRegister(batch.data_ptr(), batch.nbytes, 0)) == 0
    y = batch.to("cuda", non_blocking=True) * 3
    batch.copy_(y, non_blocking=True)
    torch.cuda.synchronize()
    assert int(runtime.cudaHostUnregister(batch.data_ptr())) == 0
    return batch.clone()


def memory_that_a_copy_gathers_first() -> list[Tensor]:
    """The host may go on with pinned memory that lies in another order: the copy has taken or put its elements when it returns."""
    x, batch = given().view(8, 8), torch.arange(64.0).view(8, 8).pin_memory()
    y = torch.empty(8, 8, device="cuda").copy_(batch.t(), non_blocking=True)
    batch.zero_()
    batch.t().copy_(x, non_blocking=True)
    return [y, batch.clone()]


def random_numbers() -> list[Tensor]:
    torch.manual_seed(3)
    own = torch.Generator("cuda").manual_seed(5)
    x = torch.randn(100, device="cuda")
    dropped = F.dropout(x, 0.3)
    drawn = [
        torch.rand(7, device="cuda", generator=own),
        torch.randperm(9, device="cuda"),
        torch.randint(50, (9,), device="cuda"),
    ]
    drawn += [
        torch.bernoulli(x.sigmoid()),
        torch.multinomial(x.abs(), 5, replacement=True),
        torch.multinomial(x.abs(), 5),
    ]
    drawn += [torch._standard_gamma(x.abs()), torch.empty(5, device="cuda").exponential_(generator=own)]
    state = torch.tensor([torch.cuda.initial_seed(), *torch.cuda.get_rng_state().tolist()])
    return [x, dropped, *drawn, torch.randn(3, device="cuda"), state]


def training() -> list[Tensor]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Dropout(0.2), torch.nn.Linear(36, 5),
    ).cuda()  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        with torch.cuda.stream(side):
            side.wait_stream(main)
            x = torch.randn(4, 1, 8, 8, device="cuda")
            target = torch.randint(5, (4,), device="cuda")
        main.wait_stream(side)
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
        x.record_stream(main), target.record_stream(main)
    return [*losses, *model.state_dict().values()]


def backward_of_two_streams() -> Tensor:
    weight = torch.arange(1.0, 9, device="cuda", requires_grad=True)
    side.wait_stream(main)
    with torch.cuda.stream(side):
        one = (weight * 2).sin().sum()
    two = (weight / 3).exp().sum()
    main.wait_stream(side)
    (one * two).backward()
    return weight.grad * 1


def batch_norm_in_a_graph() -> list[Tensor]:
    norm = torch.nn.BatchNorm1d(4).cuda()
    x, graph = torch.arange(32.0, device="cuda").view(8, 4), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = norm(x)
    x.add_(1)
    graph.replay()
    return [y * 1, norm.running_mean, norm.running_var, norm.num_batches_tracked]


def parts_of_one_memory() -> Tensor:
    x = torch.zeros(8, 8, device="cuda")
    side.wait_stream(main)
    with torch.cuda.stream(side):
        x[::2].add_(1)
        x[:, 1].mul_(4)
        x.t()[2].fill_(7)
    main.wait_stream(side)
    x[1:].copy_(x[:-1].clone())
    x.view(-1)[3:9] += x.view(-1)[40:46]
    return x


def results_that_are_given() -> list[Tensor]:
    x, y = given(), torch.empty(0, device="cuda")
    torch.mul(x, 2, out=y)
    torch.add(y, 1, out=y)
    values, places = torch.empty(3, device="cuda"), torch.empty(3, dtype=torch.long, device="cuda")
    torch.topk(y, 3, out=(values, places))
    y.resize_(80)[64:] = 1
    return [y, values, places]


def masks() -> list[Tensor]:
    """What they choose has a size that depends on values which wait."""
    x = given()
    with torch.cuda.stream(side):
        even = (x * 3) % 2 == 0
        chosen = [x[even], x[:, None].expand(64, 2)[even], x[even.to(torch.int64)]]
    main.wait_stream(side)
    return chosen


def places() -> list[Tensor]:
    x = given()
    order = (-x).argsort()
    table = torch.zeros(10, 3, device="cuda")
    table.index_put_((order[:4] % 10,), torch.ones(3, device="cuda"), accumulate=True)
    table[torch.arange(10, device="cuda") > 7] = 5
    rows = F.embedding(order[:3] % 10, table)
    return [
        x[order],
        table,
        rows,
        x.gather(0, order),
        torch.zeros_like(x).scatter_add_(0, order % 3, x),
        (x > 60).nonzero(),
    ]


def matrices() -> list[Tensor]:
    torch.manual_seed(1)
    a = torch.randn(6, 6, device="cuda", dtype=torch.double)
    factors, pivots = torch.linalg.lu_factor(a)
    q, k = torch.randn(2, 1, 2, 5, 4, device="cuda").unbind()
    return [
        torch.linalg.lu_solve(factors, pivots, a), torch.linalg.eigvalsh(a @ a.t()), torch.linalg.inv(a), torch.linalg.det(a),
        F.scaled_dot_product_attention(q, k, q), F.layer_norm(q, (4,)), torch.fft.rfft(q), torch.einsum("abij,abkj->ik", q, k),
    ]  # fmt: skip


def lists_of_tensors() -> list[Tensor]:
    some = [given(), given() * 2]
    torch._foreach_mul_(some, 3.0)
    torch._foreach_add_(some, [torch.ones(64, device="cuda")] * 2)
    return [
        *some,
        torch.cat(some),
        torch.stack(some).sum(0),
        *torch.split(some[0] * 1, 20),
        *torch.unbind(some[1].view(2, 32) + 1),
    ]


def numbers_of_the_host() -> Tensor:
    number, x = torch.tensor(2.0), given()
    y = x * number
    number.fill_(9)
    del number
    return y + torch.tensor(1)


def types() -> list[Tensor]:
    x = given()
    with torch.autocast("cuda", torch.bfloat16):
        y = torch.nn.Linear(64, 2, device="cuda").requires_grad_(False).cuda()
        y.weight.fill_(0.5), y.bias.fill_(1)
        product = y(x)
    z = torch.complex(x, -x)
    return [
        product.float(),
        z.conj() * z,
        z.imag.clone(),
        x.long() // 3,
        x.half().sum(),
        x.to(torch.uint8) << 1,
        torch.view_as_real(z),
    ]


def between_devices() -> Tensor:
    x = given() * 2
    there = x.to("cuda:1") + 1
    with torch.cuda.device(1):
        there.mul_(2)
    return there.to("cuda:0") - x


def memory_that_comes_and_goes() -> list[Tensor]:
    kept = []
    for i in range(20):
        x = torch.full((1000 + i,), float(i), device="cuda")
        side.wait_stream(main)
        with torch.cuda.stream(side):
            kept.append((x * 2).sum())
        x.record_stream(side)
        del x
        if i % 7 == 6:
            torch.cuda.empty_cache()
    main.wait_stream(side)
    x = given() * 2
    x.untyped_storage().resize_(400)
    return [*kept, x]


def storages() -> list[Tensor]:
    x, y = given() * 2, torch.empty(0, device="cuda")
    y.set_(x)
    y.add_(1)
    z = torch.empty(0, device="cuda").set_(x.untyped_storage(), 3, (5,), (2,))
    return [x, z * 1, torch._lazy_clone(x).mul_(2), x]


def a_thread_beside() -> list[Tensor]:
    results: list[Tensor] = []

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.ones(500, device="cuda")
            for _ in range(30):
                x = x * 2 - 1
            torch.cuda.current_stream().synchronize()
            results.append(x)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    y = torch.ones(500, device="cuda")
    for _ in range(30):
        y = y * 2 - 1
    for thread in threads:
        thread.join()
    return [*results, y]


def is_right(program: Callable[[bool], Tensor], wait: bool) -> bool:
    answer = program(wait).cpu()
    torch.cuda.synchronize()
    return torch.equal(answer, torch.arange(1.0, 65))


PLANTED = (
    a_side_stream_reads_too_early, the_default_stream_reads_too_early, one_number_is_read_too_early, the_host_reads_too_early,
    the_host_reads_what_to_cpu_has_not_brought, the_host_overwrites_too_early, an_event_is_recorded_too_early,
    it_waits_for_another_stream, memory_is_used_again, it_is_changed_while_it_is_read, both_write, a_matrix_is_read_too_early,
    random_numbers_are_read_too_early, a_gradient_is_read_too_early, places_are_read_too_early,
)  # fmt: skip
RIGHT = (
    a_chain_of_streams, memory_that_was_registered, memory_that_a_copy_gathers_first, a_loader_that_copies_ahead,
    random_numbers, training, backward_of_two_streams, batch_norm_in_a_graph, parts_of_one_memory, results_that_are_given,
    places, masks, matrices, lists_of_tensors, numbers_of_the_host, types, between_devices, memory_that_comes_and_goes,
    storages, a_thread_beside,
)  # fmt: skip


def planted(wait: bool) -> dict[str, bool]:
    return {program.__name__: is_right(program, wait) for program in PLANTED}


def right() -> dict[str, list[str]]:
    answers = {}
    for program in RIGHT:
        answer = program()
        tensors = answer if isinstance(answer, list) else [answer]
        answers[program.__name__] = [repr((each.shape, each.stride(), each.cpu().tolist())) for each in tensors]
    return answers
