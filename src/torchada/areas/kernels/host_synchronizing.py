"""isfinite, log_ and multinomial, where the backend's kernels make the host wait, which no graph's capture allows, or are wrong.

Versions of torch_musa multiply booleans on the host's time, which is the last step of isfinite; lack log_ in double precision; and
read the probabilities of multinomial on the host, to check them, if it draws without replacement. CUDA does none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Kernel, Selection
from torchada.areas.kernels._verdicts import Function, Probe, Verdicts
from torchada.areas.kernels._waiting import Waiting, need_streams
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Generator, Tensor
    from torch._C import DispatchKeySet

_ENDS = "torch_musa 2.11.0.post2"


def patches(context: Context) -> Iterator[Patch]:
    need_streams(context)
    kernels, verdicts = Selection(context), Verdicts(context)
    finite, logarithm, sampling = _Finite(context), _Logarithm(context), _Sampling(context)

    def patch(name: str, replacement: Function, probe: Callable[..., bool], to: str, **more: Any) -> Patch:
        sampled = name.startswith("multinomial")
        kernel = (_Multinomial if sampled else Kernel)(context, name, replacement, probe, verdicts, sampled)
        note = f"torch.{name.removesuffix('.out')}" + (" with out=" if name.endswith(".out") else "")
        return Patch(kernels, name, kernel, None, "emulated", to, note=note, **more)

    yield patch("isfinite", finite.new, finite.is_right, "a comparison with infinity", until="torch_musa 2.13.0")
    yield patch("log_", logarithm.in_place, logarithm.is_right, "torch.log, whose result is copied", until=_ENDS)
    to = "draws that the host does not check, in captures"
    yield patch("multinomial", sampling.new, sampling.is_right, to, until=_ENDS)
    yield patch("multinomial.out", sampling.out, sampling.is_right_with_out, to, until=_ENDS)


class _Multinomial(Kernel):
    """What draws with replacement is another kernel, and has a verdict of its own: torch_musa 2.7.1's is captured as it is.

    torch_musa 2.7.1 draws one number from the default generator, whichever is given (Multinomial.cpp).
    """

    def __init__(self, context: Context, name: str, replacement: Function, *rest: Any) -> None:
        super().__init__(context, name, replacement, *rest)
        sampling, verdicts = _Sampling(context), rest[1]
        self._seeded = Kernel(context, name, replacement, partial(sampling.follows, has_out="out" in name), verdicts)
        self._seeded.name = f"{name}, with a generator"

    def opened(self, below: DispatchKeySet, leave: Callable[[], None]) -> None:
        """Both kernels are behind the one gate. What is right with a generator says nothing of the other calls, so it stays."""
        super().opened(below, leave)
        self._seeded.opened(below, lambda: None)

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        num_samples, replacement = args[1], args[2] if len(args) > 2 else False
        if num_samples == 1 and not replacement and kwargs.get("generator") is not None:
            return self._seeded(keys, *args, **kwargs)
        return super().__call__(keys, *args, **kwargs)

    def case(self, *args: Any, **kwargs: Any) -> tuple[str, Probe]:
        name, probe = super().case(*args, **kwargs)
        if not (args[2] if len(args) > 2 else kwargs.get("replacement", False)):
            return name, probe
        return f"{name}, with replacement", lambda kernel, device: probe(partial(kernel, replacement=True), device)


class _Finite(Waiting):
    def new(self, self_: Tensor) -> Tensor:
        torch = self._torch
        if self_.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            return self_.abs() < float("inf")
        # Complex numbers come back here with each part; all integers are finite; others have few operators.
        composed: Tensor = torch.ops.aten.isfinite.default.decompose(self_)
        return composed

    def is_right(self, kernel: Function, device: Any) -> bool:
        inf = float("inf")
        values = self._torch.tensor([0.0, inf, -inf, float("nan"), 1e38], device=device)
        return kernel(values).tolist() == [True, False, False, False, True] and self.goes_on(
            lambda: kernel(values), device
        )


class _Logarithm(Waiting):
    def in_place(self, self_: Tensor) -> Tensor:
        return self_.copy_(self._torch.log(self_))

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        for dtype in (torch.float32, torch.float64):
            values = torch.tensor([1.0, 2.0, 1e-3], dtype=dtype, device=device)
            want = values.cpu().log()
            if not torch.allclose(kernel(values).cpu(), want) or not torch.allclose(values.cpu(), want):
                return False
        return self.goes_on(lambda: kernel(values), device)


class _Sampling(Waiting):
    def new(
        self, self_: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """As PyTorch's kernel, without its check of the probabilities, which cannot be read during a capture."""
        self._check(self_, num_samples, replacement)
        weights = self_ if self_.dtype == self._torch.float64 else self_.float()
        if replacement and num_samples > 1:
            return self._by_sums(weights, num_samples, generator)
        return self._by_race(weights, num_samples, generator)

    def out(
        self,
        self_: Tensor,
        num_samples: int,
        replacement: bool = False,
        *,
        generator: Generator | None = None,
        out: Tensor,
    ) -> Tensor:
        if out.dtype != self._torch.int64:
            raise RuntimeError(f"multinomial expects Long tensor result, got: {out.dtype}")
        drawn = self.new(self_, num_samples, replacement, generator=generator)
        return out.resize_(drawn.shape).copy_(drawn)

    def _by_race(self, weights: Tensor, num_samples: int, generator: Generator | None) -> Tensor:
        """Without replacement: times of arrival at these rates are drawn, and the earliest win."""
        torch = self._torch
        times = torch.empty_like(weights).exponential_(generator=generator)
        # Some devices draw 0, which would win with any rate.
        speeds = weights / times.clamp_min_(torch.finfo(times.dtype).tiny)
        first: Tensor = speeds.argmax(-1, keepdim=True) if num_samples == 1 else speeds.topk(num_samples, -1).indices
        return first

    def _by_sums(self, weights: Tensor, num_samples: int, generator: Generator | None) -> Tensor:
        """With replacement: in which part of the sum of all weights a draw falls."""
        torch = self._torch
        sums = weights.cumsum(-1)
        total = sums[..., -1:].contiguous()
        draws = torch.rand(
            (*weights.shape[:-1], num_samples), dtype=weights.dtype, device=weights.device, generator=generator
        )
        drawn: Tensor = torch.searchsorted(sums, draws * total, right=True)
        # Rounded up, a draw may be the total itself, and belongs to the last category that can be drawn.
        last = torch.searchsorted(sums, total)
        return drawn.minimum(last)

    def _check(self, weights: Tensor, num_samples: int, replacement: bool) -> None:
        """PyTorch's words."""
        if weights.dim() not in (1, 2):
            raise RuntimeError("prob_dist must be 1 or 2 dim")
        if not weights.is_floating_point():
            raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {weights.dtype}")
        if num_samples <= 0:
            raise RuntimeError("cannot sample n_sample <= 0 samples")
        if not replacement and num_samples > weights.size(-1):
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")

    def is_right(self, kernel: Function, device: Any) -> bool:
        return self._draws(kernel, device)

    def is_right_with_out(self, kernel: Function, device: Any) -> bool:
        drawn = self._torch.empty(0, dtype=self._torch.int64, device=device)
        return self._draws(lambda *args: kernel(*args, out=drawn), device)

    def follows(self, kernel: Function, device: Any, has_out: bool = False) -> bool:
        """Whether the kernel draws from the generator that it is given: two with the same seed have to give the same."""
        torch, namespace = self._torch, self._namespace
        weights = torch.ones(16, 64, device=device)

        def draw() -> Tensor:
            out = {"out": torch.empty(0, dtype=torch.int64, device=device)} if has_out else {}
            generator = torch.Generator(device).manual_seed(0)
            drawn: Tensor = kernel(weights, 1, generator=generator, **out)
            return drawn

        state = namespace.get_rng_state(device)
        try:
            return bool(torch.equal(draw(), draw()))
        finally:
            namespace.set_rng_state(state, device)

    def _draws(self, kernel: Function, device: Any) -> bool:
        """Draw in the probe without changing the random numbers that the program gets."""
        namespace = self._namespace
        state = namespace.get_rng_state(device)
        try:
            weights = self._torch.tensor([[0.0, 0.0, 3.0], [0.5, 0.0, 0.0]], device=device)
            is_right: bool = kernel(weights, 1)[:, 0].tolist() == [2, 0]
            return is_right and self.goes_on(lambda: kernel(weights, 1), device)
        finally:
            namespace.set_rng_state(state, device)
