"""Barriers: bar.sync 0, barrier.cta.sync.aligned 0, bar.red.or.pred, bar.warp.sync.

A block has sixteen barriers by number. Each waits for the whole block, as `__syncthreads()` does, unless a number of threads is
given: if some of them waited at another one, none would go on. A barrier for some of the threads has no counterpart.
"""

from __future__ import annotations

from torchada.porting.ptx.registers import Values

_REDUCED = {
    (b"popc", b"u32"): b"%b = __syncthreads_count(%b)",
    (b"and", b"pred"): b"%b = __syncthreads_and(%b) != 0",
    (b"or", b"pred"): b"%b = __syncthreads_or(%b) != 0",
}


def barrier(modifiers: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """bar and barrier, which differ in whether the threads of a warp come together."""
    names = [name for name in modifiers if name not in (b"cta", b"aligned")]
    if names == [b"warp", b"sync"] and len(operands) == 1:
        mask = values.input(operands[0], b"r")
        return None if mask is None else b"__syncwarp(%b)" % mask
    if names == [b"sync"] and len(operands) == 1:
        return None if values.input(operands[0], b"r") is None else b"__syncthreads()"
    return _reduced(names, operands, values) if names[:1] == [b"red"] else None


def _reduced(names: list[bytes], operands: list[bytes], values: Values) -> bytes | None:
    """bar.red.popc.u32 d, a, p"""
    call = _REDUCED.get((names[1], names[2])) if len(names) == 3 else None
    if call is None or len(operands) != 3 or values.input(operands[1], b"r") is None:
        return None
    target = values.output(operands[0], b"p" if names[2] == b"pred" else b"r")
    negated = operands[2][:1] == b"!"
    condition = values.input(operands[2][negated:], b"p")
    if target is None or condition is None:
        return None
    return call % (target, b"!%b" % condition if negated else condition)


RULES = {b"bar": barrier, b"barrier": barrier}
