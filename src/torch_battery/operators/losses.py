"""Losses."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from torch_battery.operator import FLOATS, SINGLE, Operator

GROUP = "losses"

TABLE = [
    Operator("mse_loss", F.mse_loss, lambda m: (m(9, 5), m(9, 5)), FLOATS, "quick", slack=4),
    Operator("l1_loss", F.l1_loss, lambda m: (m.apart(9, 5), m.distinct(9, 5).floor()), FLOATS, slack=4),
    Operator("smooth_l1_loss", F.smooth_l1_loss, lambda m: (m(9, 5), m(9, 5)), FLOATS, slack=4),
    Operator("huber_loss", F.huber_loss, lambda m: (m(9, 5), m(9, 5)), FLOATS, slack=4),
    Operator("cross_entropy", F.cross_entropy, lambda m: (m(9, 5), m.integers(5, 9)), FLOATS, "quick", slack=4),
    Operator(
        "cross_entropy_smooth",
        lambda a, i: F.cross_entropy(a, i, label_smoothing=0.1),
        lambda m: (m(9, 5), m.integers(5, 9)),
        FLOATS,
        slack=4,
    ),
    Operator(
        "cross_entropy_weight",
        lambda a, i, w: F.cross_entropy(a, i, w, ignore_index=2),
        lambda m: (m(9, 5), m.integers(5, 9), m.positive(5)),
        SINGLE,
        slack=4,
        grad=False,
    ),
    Operator(
        "cross_entropy_soft",
        lambda a, b: F.cross_entropy(a, b.softmax(-1)),
        lambda m: (m(9, 5), m(9, 5)),
        FLOATS,
        slack=4,
    ),
    Operator(
        "nll_loss",
        lambda a, i: F.nll_loss(a.log_softmax(-1), i, reduction="none"),
        lambda m: (m(9, 5), m.integers(5, 9)),
        FLOATS,
        slack=4,
    ),
    Operator(
        "nll_loss_2d",
        lambda a, i: F.nll_loss(a.log_softmax(1), i),
        lambda m: (m(2, 5, 4, 4), m.integers(5, 2, 4, 4)),
        SINGLE,
        slack=4,
    ),
    Operator("bce", F.binary_cross_entropy, lambda m: (m.share(9, 5), m.share(9, 5)), SINGLE, slack=10),
    Operator(
        "bce_with_logits", F.binary_cross_entropy_with_logits, lambda m: (m(9, 5), m.share(9, 5)), FLOATS, slack=4
    ),
    Operator(
        "kl_div",
        lambda a, b: F.kl_div(a.log_softmax(-1), b.softmax(-1), reduction="batchmean"),
        lambda m: (m(9, 5), m(9, 5)),
        FLOATS,
        slack=10,
    ),
    Operator(
        "hinge_embedding",
        lambda a, b: F.hinge_embedding_loss(a, b.float().sign().to(a) * 2 - 1),
        lambda m: (m(9, 5), m.mask(9, 5)),
        SINGLE,
        slack=4,
    ),
    Operator("triplet_margin", F.triplet_margin_loss, lambda m: (m(9, 5), m(9, 5), m(9, 5)), SINGLE, slack=10),
    Operator(
        "cosine_embedding",
        lambda a, b: F.cosine_embedding_loss(a, b, torch.ones(9, device=a.device)),
        lambda m: (m(9, 5), m(9, 5)),
        SINGLE,
        slack=10,
    ),
    Operator(
        "ctc",
        lambda a, i: F.ctc_loss(a.log_softmax(-1), i + 1, torch.full((3,), 12), torch.full((3,), 4)),
        lambda m: (m(12, 3, 6), m.integers(5, 3, 4)),
        SINGLE,
        slack=20,
        strided=False,
    ),
    Operator("gaussian_nll", F.gaussian_nll_loss, lambda m: (m(9, 5), m(9, 5), m.positive(9, 5)), SINGLE, slack=4),
    Operator("poisson_nll", F.poisson_nll_loss, lambda m: (m.unit(9, 5), m.positive(9, 5)), SINGLE, slack=4),
]
