"""Liger-Kernel's operations, forward and backward."""

import torch
from comparing import error, report, with_gradients
from liger_kernel.transformers import functional as liger
from liger_kernel.transformers.experimental.embedding import LigerEmbedding
from torch.nn import functional as F

ROWS, COLUMNS = 4, 48
X = torch.linspace(-2, 2, ROWS * COLUMNS).sin().view(ROWS, COLUMNS)
TARGETS = torch.tensor([3, 47, 0, 20])


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def jsd(x, y):
    middle = torch.log((x.exp() + y.exp()) / 2)
    halves = [F.kl_div(middle, each, log_target=True, reduction="sum") for each in (x, y)]
    return sum(halves) / 2 / ROWS


def sparsemax(x):
    ordered = x.sort(-1, descending=True).values
    sums, k = ordered.cumsum(-1), torch.arange(1, x.shape[-1] + 1)
    support = (1 + k * ordered > sums).sum(-1, keepdim=True)
    return (x - (sums.gather(-1, support - 1) - 1) / support).clamp(min=0)


def embedding():
    weight = randn(COLUMNS, 16)
    module = LigerEmbedding(COLUMNS, 16).cuda()

    def ours(weight):
        return torch.func.functional_call(module, {"weight": weight}, (TARGETS.cuda(),))

    return with_gradients(ours, lambda weight: F.embedding(TARGETS, weight), weight)


def rope():
    q, k, angle = randn(1, 4, 8, 16), randn(1, 2, 8, 16), torch.rand(1, 8, 8).repeat(1, 1, 2)
    cos, sin = angle.cos(), angle.sin()

    def turned(x):
        return x * cos[:, None] + torch.cat([-x[..., 8:], x[..., :8]], -1) * sin[:, None]

    found = liger.liger_rope(q.cuda(), k.cuda(), cos.cuda(), sin.cuda())
    return max(error(mine, turned(each)) for mine, each in zip(found, (q, k)))


def kl_div():
    target = X.softmax(-1)
    return with_gradients(
        lambda x: liger.liger_kl_div(x.log_softmax(-1), target.cuda()),
        lambda x: F.kl_div(x.log_softmax(-1), target, reduction="mean"),
        randn(ROWS, COLUMNS),
    )


def tvd():
    target = X.softmax(-1)
    return with_gradients(
        lambda x: liger.liger_tvd(x.softmax(-1), target.cuda()),
        lambda x: (x.softmax(-1) - target).abs().mean() / 2,
        randn(ROWS, COLUMNS),
    )


def fused_linear_jsd():
    teacher, weight = randn(ROWS, 16), randn(COLUMNS, 16)

    def ours(x, w):
        return liger.liger_fused_linear_jsd(x, w, teacher.cuda(), weight.cuda())

    def reference(x, w):
        return jsd((x @ w.t()).log_softmax(-1), (teacher @ weight.t()).log_softmax(-1))

    return with_gradients(ours, reference, randn(ROWS, 16), randn(COLUMNS, 16))


def fused_add_rms_norm():
    return with_gradients(
        lambda a, r, w: liger.liger_fused_add_rms_norm(a, r, w, 1e-6)[0],
        lambda a, r, w: F.rms_norm(a + r, (COLUMNS,), w, 1e-6),
        matrix(),
        matrix(),
        vector(),
    )


def elementwise(name, reference, *inputs, **arguments):
    return lambda: with_gradients(
        lambda *each: getattr(liger, f"liger_{name}")(*each, **arguments), reference, *(make() for make in inputs)
    )


def matrix():
    return randn(ROWS, COLUMNS)


def vector():
    return torch.rand(COLUMNS)


report(
    {
        "swiglu": elementwise("swiglu", lambda a, b: F.silu(a) * b, matrix, matrix),
        "geglu": elementwise("geglu", lambda a, b: F.gelu(a, approximate="tanh") * b, matrix, matrix),
        "softmax": elementwise("softmax", lambda a: a.softmax(-1), matrix),
        "sparsemax": elementwise("sparsemax", sparsemax, matrix),
        "relu_squared": elementwise("relu_squared", lambda a: F.relu(a) ** 2, matrix),
        "rms_norm": elementwise("rms_norm", lambda a, w: F.rms_norm(a, (COLUMNS,), w, 1e-6), matrix, vector, eps=1e-6),
        "layer_norm": elementwise(
            "layer_norm", lambda a, w, b: F.layer_norm(a, (COLUMNS,), w, b, 1e-5), matrix, vector, vector, eps=1e-5
        ),
        "poly_norm": elementwise(
            "poly_norm",
            lambda a, w, b: sum(w[i] * F.rms_norm(a ** (3 - i), (COLUMNS,), None, 1e-6) for i in range(3)) + b,
            matrix,
            lambda: torch.rand(3),
            lambda: torch.rand(()),
        ),
        "group_norm": lambda: with_gradients(
            lambda a, w, b: liger.liger_group_norm(a, w, b, 6, 2, 1e-5),
            lambda a, w, b: F.group_norm(a, 2, w, b, 1e-5),
            randn(2, 6, 16),
            torch.rand(6),
            torch.rand(6),
        ),
        "fused_add_rms_norm": fused_add_rms_norm,
        "dyt": elementwise(
            "dyt", lambda a, s, w, b: w * torch.tanh(s * a) + b, matrix, lambda: torch.rand(1), vector, vector
        ),
        "cross_entropy": lambda: with_gradients(
            lambda a: liger.liger_cross_entropy(a * 1.0, TARGETS.cuda()),
            lambda a: F.cross_entropy(a, TARGETS),
            matrix(),
        ),
        "fused_linear_cross_entropy": lambda: with_gradients(
            lambda a, w: liger.liger_fused_linear_cross_entropy(a, w, TARGETS.cuda()),
            lambda a, w: F.cross_entropy(a @ w.t(), TARGETS),
            randn(ROWS, 16),
            randn(COLUMNS, 16),
        ),
        "fused_linear_jsd": fused_linear_jsd,
        "jsd": lambda: with_gradients(
            lambda a: liger.liger_jsd(a.log_softmax(-1), X.log_softmax(-1).cuda()),
            lambda a: jsd(a.log_softmax(-1), X.log_softmax(-1)),
            matrix(),
        ),
        "kl_div": kl_div,
        "tvd": tvd,
        "embedding": embedding,
        "rope": rope,
    }
)
