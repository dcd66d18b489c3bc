"""PYTORCH_MUSA_ALLOC_CONF=expandable_segments:True: numbers as the caching allocator of torch_musa 2.7.1 computes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.fresh_process import run

pytest.importorskip("torch", reason="needs torch")
pytestmark = [pytest.mark.musa, pytest.mark.once]

SETUP = """
import json, torch, torch_musa
MIB = 1 << 20
settings = torch.musa.memory._set_allocator_settings
settings("expandable_segments:True")
def take(mib):
    return torch.ones(mib * MIB, dtype=torch.int8, device="musa")
def large():
    return [s for s in torch.musa.memory_snapshot() if s["segment_type"] == "large"]
def blocks():
    return [[(b["size"] // MIB, b["state"] == "inactive") for b in s["blocks"]] for s in large()]
def tell(**values):
    print(json.dumps(values))
"""


def told(code: str) -> dict[str, object]:
    return json.loads(run(SETUP + code).splitlines()[-1])


def test_one_segment_grows_by_pieces_and_its_gaps_are_used_together_with_new_pieces() -> None:
    found = told("""
held = [take(6) for _ in range(4)]
first = held[0].data_ptr()
ends_in_a_piece = blocks()
del held[-1]
whole = take(30)  # begins in the gap, and goes on in pieces that are mapped for it
stats = torch.musa.memory_stats()
tell(ends_in_a_piece=ends_in_a_piece, offset=(whole.data_ptr() - first) // MIB, after=blocks(), sum=int(whole.long().sum()),
     expandable=[s["is_expandable"] for s in large()], segments=stats["segment.all.current"],
     splits=stats["inactive_split.all.current"])
""")
    assert found == {
        "ends_in_a_piece": [[[6, False]] * 4 + [[16, True]]],
        "offset": 18,
        "after": [[[6, False]] * 3 + [[30, False], [12, True]]],
        "sum": 30 << 20,
        "expandable": [True],
        "segments": 0,  # torch_musa counts no expandable ones, and no splits of them
        "splits": 0,
    }


def test_whole_free_pieces_are_given_back() -> None:
    found = told("""
held = [take(25), take(50), take(5)]
before = torch.musa.memory_reserved() // MIB
del held[1]  # from 25 to 75, with the piece from 40 to 60
torch.musa.empty_cache()
kept, reserved = blocks(), torch.musa.memory_reserved() // MIB
again = take(30)
offset = (again.data_ptr() - held[0].data_ptr()) // MIB
usable = int(again.long().sum())
del held, again
torch.musa.empty_cache()
tell(before=before, kept=kept, reserved=reserved, offset=offset, usable=usable, left=blocks(),
     end=torch.musa.memory_reserved())
""")
    assert found == {
        "before": 80,
        "kept": [[[25, False], [15, True]], [[15, True], [5, False]]],
        "reserved": 60,
        "offset": 25,
        "usable": 30 << 20,
        "left": [],
        "end": 0,
    }


@pytest.mark.full
def test_maps_and_unmaps_are_in_the_history() -> None:
    found = told("""
torch.musa.memory._record_memory_history("all")
held = take(12)
del held
torch.musa.empty_cache()
tell(actions=[(e["action"], e["size"] // MIB) for e in torch.musa.memory._snapshot()["device_traces"][0]][:5])
""")
    assert found["actions"] == [
        ["segment_map", 20],
        ["alloc", 12],
        ["free_requested", 12],
        ["free_completed", 12],
        ["segment_unmap", 20],
    ]


def test_blocks_of_expandable_segments_are_not_used_once_they_are_switched_off() -> None:
    found = told("""
held = take(12)
place = held.data_ptr()
del held
settings("expandable_segments:False")
other = take(12)
elsewhere = other.data_ptr() != place
settings("expandable_segments:True")
again = take(12)
tell(elsewhere=elsewhere, back=again.data_ptr() == place, expandable=sorted(s["is_expandable"] for s in large()))
""")
    assert found == {"elsewhere": True, "back": True, "expandable": [False, True]}


def test_a_full_device_is_out_of_memory_and_recovers() -> None:
    found = told("""
total = torch.musa.get_device_properties(0).total_memory // MIB
def empty(mib):
    return torch.empty(mib * MIB, dtype=torch.int8, device="musa")
held = empty(total // 2)
try:
    empty(total * 3 // 4)
except torch.OutOfMemoryError:
    refused = True
del held
fits = empty(total * 3 // 4).numel() // MIB == total * 3 // 4
tell(refused=refused, fits=fits)
""")
    assert found == {"refused": True, "fits": True}


@pytest.mark.full
def test_another_process_gets_the_pieces_that_a_tensor_lies_in(tmp_path: Path) -> None:
    script = tmp_path / "send.py"
    script.write_text(
        "import musasim; musasim.install()\n"
        + SETUP
        + """
import torch.multiprocessing as mp
def double(tensors, answers):
    tensors.get().mul_(2)
    torch.musa.synchronize()
    answers.put(True)
if __name__ == "__main__":
    spawn = mp.get_context("spawn")
    tensors, answers = spawn.SimpleQueue(), spawn.SimpleQueue()
    child = spawn.Process(target=double, args=(tensors, answers))
    child.start()
    before, sent, after = take(25), take(25), take(25)
    tensors.put(sent)
    answers.get()
    child.join()
    later = take(40)  # mapped after the memory was exported
    tell(sums=[int(each.long().sum()) // MIB for each in (before, sent, after, later)], code=child.exitcode)
"""
    )
    output = run(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')", install=False)
    assert json.loads(output.splitlines()[-1]) == {"sums": [25, 50, 25, 40], "code": 0}


def test_the_driver_makes_no_handle_for_other_processes() -> None:
    found = told("""
import ctypes
held = take(12)
runtime = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if line.endswith("libmusart.so\\n")))
handle = ctypes.create_string_buffer(64)
expandable = runtime.musaIpcGetMemHandle(handle, ctypes.c_void_p(held.data_ptr()))
settings("expandable_segments:False")
other = take(12)
tell(expandable=expandable, other=runtime.musaIpcGetMemHandle(handle, ctypes.c_void_p(other.data_ptr())))
""")
    assert found == {"expandable": 1, "other": 0}


def test_graphs_have_expandable_segments_of_their_own() -> None:
    found = told("""
source = torch.zeros(4 * MIB, device="musa")
graph = torch.musa.MUSAGraph()
with torch.musa.graph(graph):
    result = (source + 1) * 2
source.fill_(3)
graph.replay()
own = [s["is_expandable"] for s in large() if tuple(s["segment_pool_id"]) == graph.pool()]
tell(result=result[:2].tolist(), own=own)
""")
    assert found == {"result": [8.0, 8.0], "own": [True]}
