"""Right programs with streams, events, pinned memory and several devices. Each is run twice, in one process with all others."""

import queue
import threading

import torch

side, other = torch.cuda.Stream(), torch.cuda.Stream()
x = torch.ones(1024, device="cuda")
torch.cuda.synchronize()


def one_stream():
    y = x * 2
    y.add_(1)
    y.sum().item()


def waits_for_a_stream():
    y = x * 2
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        z = y + 1
    torch.cuda.current_stream().wait_stream(side)
    z.sum().item()


def waits_for_an_event():
    y = x * 2
    event = torch.cuda.current_stream().record_event()
    with torch.cuda.stream(side):
        side.wait_event(event)
        z = y + 1
        done = side.record_event()
    done.wait()
    z.sum().item()


def three_in_a_row():
    y = x * 2
    side.wait_stream(torch.cuda.current_stream())
    other.wait_stream(side)
    with torch.cuda.stream(other):
        z = y + 1
    torch.cuda.current_stream().wait_stream(other)
    z.sum().item()


def the_host_waits_for_the_device():
    with torch.cuda.stream(side):
        y = x * 2
    torch.cuda.synchronize()
    y.sum().item()


def the_host_waits_for_the_stream():
    with torch.cuda.stream(side):
        y = x * 2
    side.synchronize()
    y.sum().item()


def the_host_waits_for_an_event():
    with torch.cuda.stream(side):
        y = x * 2
        event = side.record_event()
    event.synchronize()
    y.sum().item()


def the_host_asks_until_it_is_done():
    with torch.cuda.stream(side):
        y = x * 2
    while not side.query():
        pass
    y.sum().item()


def the_host_asks_an_event():
    with torch.cuda.stream(side):
        y = x * 2
        event = side.record_event()
    while not event.query():
        pass
    y.sum().item()


def both_read():
    x.sum()
    with torch.cuda.stream(side):
        x.max()
    torch.cuda.synchronize()


def both_normalise_by_the_same_statistics():
    norm = torch.nn.BatchNorm1d(4, device="cuda").eval()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        norm(torch.ones(8, 4, device="cuda"))
    norm(torch.ones(8, 4, device="cuda"))
    torch.cuda.synchronize()


def parts_of_their_own():
    with torch.cuda.stream(side):
        x[:512].add_(1)
    x[512:].add_(1)
    torch.cuda.synchronize()


def columns_of_their_own():
    table = x.view(32, 32)
    with torch.cuda.stream(side):
        table[:, 0].add_(1)
    table[:, 1].add_(1)
    torch.cuda.synchronize()


def record_stream_keeps_memory():
    y = x * 2
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y.sum()
        y.record_stream(side)
    del y
    (x * 3).sum().item()
    torch.cuda.synchronize()


def memory_of_the_same_stream():
    for _ in range(4):
        y = x * 2
        del y


def waits_before_memory_is_used_again():
    y = x * 2
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y.sum()
    torch.cuda.current_stream().wait_stream(side)
    del y
    (x * 3).sum().item()


def a_pinned_result_after_a_wait():
    result = torch.empty(1024, pin_memory=True)
    result.copy_(x, non_blocking=True)
    torch.cuda.current_stream().synchronize()
    result.sum()


def a_pinned_result_after_its_event():
    result = x.to("cpu", non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    event.synchronize()
    result.tolist()


def a_pinned_result_after_a_number_of_the_stream():
    result = x.to("cpu", non_blocking=True)
    x.sum().item()
    result.tolist()


def a_copy_that_waits():
    x.cpu().sum()
    torch.empty(1024, pin_memory=True).copy_(x).sum()


def ordinary_memory_is_there_when_the_copy_returns():
    torch.empty(1024).copy_(x, non_blocking=True).sum()
    batch = torch.ones(1024)
    batch.to("cuda", non_blocking=True)
    batch.fill_(2)


def a_pinned_batch_is_read_meanwhile():
    batch = torch.ones(1024).pin_memory()
    batch.to("cuda", non_blocking=True)
    batch.sum()
    torch.cuda.synchronize()
    batch.fill_(2)


def a_pinned_batch_is_let_go():
    for _ in range(4):
        torch.ones(1024).pin_memory().to("cuda", non_blocking=True)


def other_parts_of_a_pinned_buffer():
    buffer = torch.zeros(200, pin_memory=True)
    buffer[:100].copy_(x[:100], non_blocking=True)
    buffer[100:].fill_(1)
    torch.cuda.synchronize()
    buffer.sum()


def a_loader_that_copies_ahead():
    batches = [torch.full((64,), float(i)).pin_memory() for i in range(4)]
    ahead = None
    for batch in [*batches, None]:
        torch.cuda.current_stream().wait_stream(side)
        now, ahead = ahead, None
        if now is not None:
            now.record_stream(torch.cuda.current_stream())
        if batch is not None:
            with torch.cuda.stream(side):
                ahead = batch.to("cuda", non_blocking=True)
        if now is not None:
            now.sum()
    torch.cuda.synchronize()


def a_training_step():
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 8, device="cuda")).square().mean().backward()
        optimizer.step()


def backward_of_a_side_stream():
    weight = torch.ones(8, device="cuda", requires_grad=True)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        loss = (weight * 2).sum()
    torch.cuda.current_stream().wait_stream(side)
    loss.backward()
    weight.grad.sum().item()


def copies_between_devices():
    there = x.to("cuda:1")
    (there + 1).to("cuda:0").sum().item()


def a_graph_and_its_result():
    graph = torch.cuda.CUDAGraph()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x * 2
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        y = x * 2
    graph.replay()
    y.sum().item()


def a_graph_on_a_side_stream():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    torch.cuda.synchronize()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        graph.replay()
    torch.cuda.current_stream().wait_stream(side)
    y.sum().item()
    torch.cuda.synchronize()


def a_thread_hands_over_what_it_has_waited_for():
    results = queue.Queue()

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            result = x * 2
            torch.cuda.current_stream().synchronize()
            results.put(result)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    results.get().sum().item()


def shapes_alone():
    with torch.cuda.stream(side):
        y = x * 2
    torch.zeros_like(y), y.new_ones(3), y[2:], y.view(2, 512).t()
    torch.cuda.synchronize()


def numbers_that_the_host_needs():
    with torch.cuda.stream(side):
        places = x.nonzero()
    places.sum().item()
    torch.cuda.synchronize()
