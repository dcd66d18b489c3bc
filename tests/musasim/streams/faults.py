"""Programs with a fault of order each: `# one` is where it shows, and `# other` the work that nothing orders before it."""

import torch

side = torch.cuda.Stream()
x = torch.ones(1024, device="cuda")
torch.cuda.synchronize()


def reads_before_it_is_written():
    y = x * 2  # other
    with torch.cuda.stream(side):
        y + 1  # one


def reads_what_a_side_stream_writes():
    with torch.cuda.stream(side):
        y = x * 2  # other
    y.sum()  # one


def overwrites_what_a_side_stream_reads():
    with torch.cuda.stream(side):
        x.sum()  # other
    x.add_(1)  # one


def both_write():
    with torch.cuda.stream(side):
        x.fill_(1)  # other
    x.fill_(2)  # one


def updates_running_statistics_twice():
    mean, variance, batch = torch.zeros(4, device="cuda"), torch.ones(4, device="cuda"), torch.ones(8, 4, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.nn.functional.batch_norm(batch, mean, variance, training=True)  # other
    torch.nn.functional.batch_norm(batch, mean, variance, training=True)  # one


def reuses_memory_without_record_stream():
    y = x * 2
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y.sum()  # other
    del y
    x * 3  # one


def reads_a_pinned_result_too_early():
    result = torch.empty(1024, pin_memory=True)
    result.copy_(x, non_blocking=True)  # other
    result.sum()  # one


def reads_what_to_cpu_has_not_brought():
    result = x.to("cpu", non_blocking=True)  # other
    result.tolist()  # one


def reads_it_as_an_array():
    result = x.to("cpu", non_blocking=True).numpy()  # other
    result[3] + 1  # one


def overwrites_a_pinned_source_too_early():
    batch = torch.ones(1024).pin_memory()
    batch.to("cuda", non_blocking=True)  # other
    batch.fill_(2)  # one


def records_the_event_too_early():
    event = torch.cuda.Event()
    event.record()
    y = x * 2  # other
    side.wait_event(event)
    with torch.cuda.stream(side):
        y + 1  # one


def waits_on_the_wrong_stream():
    y = x * 2  # other
    torch.cuda.Stream().wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y + 1  # one


def synchronises_the_wrong_stream():
    result = torch.empty(1024, pin_memory=True)
    with torch.cuda.stream(side):
        result.copy_(x, non_blocking=True)  # other
    torch.cuda.current_stream().synchronize()
    result.sum()  # one


def copies_two_results_into_one_buffer():
    result = torch.empty(1024, pin_memory=True)
    result.copy_(x, non_blocking=True)  # other
    with torch.cuda.stream(side):
        result.copy_(x, non_blocking=True)  # one


def copies_to_another_device_too_early():
    with torch.cuda.stream(side):
        y = x * 2  # other
    y.to("cuda:1")  # one


def reads_a_part_that_is_written():
    with torch.cuda.stream(side):
        x[::2].fill_(2)  # other
    x[512:].sum()  # one


def reads_the_result_of_a_graph_too_early():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        graph.replay()
    y.sum()  # one
