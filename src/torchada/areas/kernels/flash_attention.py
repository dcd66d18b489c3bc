"""Flash attention: the operators of aten that CUDA's kernels have, which torch.nn.attention.varlen calls.

torch_musa 2.7.1 registers two of the three, for muDNN. They refuse a window, even the -1 on both sides that varlen_attn passes;
ignore `seqused_k`; return the sums in another shape than CUDA; and give no gradients of packed sequences. What is missing or wrong
is computed by operators of dense tensors, in single precision, and without waiting for the device, so that captures work.

All sequences are filled up to the longest: memory and time are those of (sequences, heads, longest query, longest key) scores, of
which `_flash_steps` holds a part at a time. Lengths are on the device, so the program's word is taken for the longest: a sequence
with more keys becomes NaN, and queries beyond the longest zero, which CUDA leaves as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Kernel, Selection
from torchada.areas.kernels._verdicts import Function, Probe, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import error

if TYPE_CHECKING:
    from torch import Tensor

    from torchada.areas.kernels._flash_call import Call

_FORWARD, _BACKWARD = "_flash_attention_forward", "_flash_attention_backward"
_IN_PLACE = f"{_FORWARD}_no_dropout_inplace"
# Where the offsets of the queries are among the arguments; packed sequences have them.
_OFFSETS = {_FORWARD: 3, _IN_PLACE: 4, _BACKWARD: 6}


def patches(context: Context) -> Iterator[Patch]:
    attention, kernels, verdicts = _Attention(context), Selection(context), Verdicts(context)
    to = f"operators of dense tensors, where {context.backend.adapter}'s kernel is not right"
    for name, replacement in attention.operators.items():
        if context.torch._C._dispatch_has_kernel(f"aten::{name}"):
            kernel = _Flash(context, name, replacement, attention.probe(name, ("packed",)), verdicts, attention)
            yield Patch(kernels, name, kernel, None, "emulated", to, note="torch.nn.attention.varlen")


class _Flash(Kernel):
    """What a call asks for has a verdict of its own: a backend's kernel may be right for a part."""

    def __init__(
        self, context: Context, name: str, kernel: Function, probe: Probe, verdicts: Verdicts, attention: _Attention
    ) -> None:
        super().__init__(context, name, kernel, probe, verdicts)
        self._attention = attention

    def device(self, *args: Any) -> Any:
        """The backend's, if any tensor is there, so that mixed devices are refused."""
        device_type = self._context.backend.device_type
        devices = [argument.device for argument in args if isinstance(argument, self._context.torch.Tensor)]
        return next((device for device in devices if device.type == device_type), devices[0])

    def case(self, *args: Any, **kwargs: Any) -> tuple[str, Probe]:
        features = ["dense" if args[_OFFSETS[self.name]] is None else "packed"]
        left, right = (kwargs.get(f"window_size_{side}") for side in ("left", "right"))
        # On the right side alone, zero is what is_causal means.
        if (left is not None and left >= 0) or (right is not None and right > 0):
            features.append("window")
        features += [option for option in ("seqused_k", "block_table") if kwargs.get(option) is not None]
        name = self.name if features == ["packed"] else f"{self.name}, {', '.join(features)}"
        return name, self._attention.probe(self.name, tuple(features))


class _Attention:
    """The three operators. What comes by name is what their schemas have after the star."""

    def __init__(self, context: Context) -> None:
        self._context, self._torch = context, context.torch
        self.operators: dict[str, Function] = {
            _FORWARD: self.forward,
            _IN_PLACE: self.in_place,
            _BACKWARD: self.backward,
        }

    def forward(self, *args: Any, **options: Any) -> tuple[Tensor, ...]:
        """(query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, return_debug_mask)"""
        torch, query = self._torch, args[0]
        output, sums = self._call(_FORWARD, *args, **options).output()
        # Without dropout, nothing is drawn. CUDA's kernel does not set the state, either.
        state, unused = (torch.empty(shape, dtype=torch.uint64, device=query.device) for shape in ((2,), ()))
        return torch.empty_like(query).copy_(output), sums, state, unused, query.new_empty(0)

    def in_place(self, out: Tensor, *args: Any, **options: Any) -> Tensor:
        """The same, where the output is written to `out`, and the sums are returned."""
        from torchada.areas.kernels._flash_checks import check_rows

        call = self._call(_IN_PLACE, *args, **options)
        call.check_like_query(out=out)
        check_rows(out)
        output, sums = call.output()
        out.copy_(output)
        return sums

    def backward(self, grad_out: Tensor, *args: Any, **options: Any) -> tuple[Tensor, ...]:
        """(query, key, value, out, logsumexp, and as `forward`, with the state of random numbers in the place of the last)"""
        torch, inputs, (out, sums) = self._torch, args[:3], args[3:5]
        call = self._call(_BACKWARD, *inputs, *args[5:11], False, **options)
        call.check_like_query(out=out, dout=grad_out)
        gradients = call.gradients(grad_out, out, sums)
        empty_like = torch.empty_like
        return tuple(empty_like(tensor).copy_(gradient) for tensor, gradient in zip(inputs, gradients))

    def probe(self, name: str, features: tuple[str, ...]) -> Probe:
        """Whether another kernel of the operator agrees with ours."""

        def probe(kernel: Function, device: Any) -> bool:
            from torchada.areas.kernels._flash_probe import Example, agree

            example = Example(self._torch, device, features)
            run = {_FORWARD: example.forward, _IN_PLACE: example.in_place}.get(
                name, partial(example.backward, forward=self.forward)
            )
            return agree(self._torch, run(kernel), run(self.operators[name]))

        return probe

    def _call(self, name: str, *args: Any, **options: Any) -> Call:
        # Here, because making its data classes would make `import torch` longer.
        from torchada.areas.kernels._flash_call import Call
        from torchada.areas.kernels._flash_checks import check

        *inputs, dropout_p, is_causal, wants_mask = args
        given = {"dropout_p": dropout_p or None, "alibi_slopes": options.pop("alibi_slopes", None)}
        # In how many parts CUDA's kernel takes the keys: a question of time, and of the order in which it adds.
        options.pop("num_splits", None)
        for argument, value in given.items():
            if value is not None:
                raise error(self._context, f"{argument} of torch.ops.aten.{name}", "it is computed without")
        check(not wants_mask, "return_softmax is only supported when p_dropout > 0.0")
        call = Call(*(self._torch, *inputs, is_causal), **options)
        call.check()
        return call
