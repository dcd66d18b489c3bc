"""Orders work by streams and events, and measures it."""

import torch

x = torch.full((64, 64), 2.0, device="cuda")
side, done = torch.cuda.Stream(), torch.cuda.Event()
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    assert torch.cuda.current_stream() == side
    y = x @ x
    done.record()
torch.cuda.current_stream().wait_event(done)
y.record_stream(torch.cuda.current_stream())
z = y + 1
end.record()
torch.cuda.synchronize()
assert done.query() and side.query() and begin.elapsed_time(end) > 0
assert isinstance(side, torch.cuda.Stream)
print("sum", z.sum().item())
