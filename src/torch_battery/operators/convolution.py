"""Convolutions and pooling, without TF32."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from torch_battery.operator import FLOATS, SINGLE, Operator

GROUP = "convolution"


def _channels_last(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    layout = torch.channels_last
    return F.conv2d(a.to(memory_format=layout), b.to(memory_format=layout), padding=1)


_TABLE = [
    Operator("conv1d", F.conv1d, lambda m: (m(2, 4, 20), m(6, 4, 3), m(6)), slack=8),
    Operator(
        "conv2d",
        lambda a, b, c: F.conv2d(a, b, c, padding=1),
        lambda m: (m(2, 4, 9, 9), m(6, 4, 3, 3), m(6)),
        FLOATS,
        "quick",
        slack=10,
    ),
    Operator(
        "conv2d_stride",
        lambda a, b: F.conv2d(a, b, stride=2, dilation=2),
        lambda m: (m(2, 4, 12, 12), m(6, 4, 3, 3)),
        slack=10,
    ),
    Operator(
        "conv2d_depthwise", lambda a, b: F.conv2d(a, b, groups=4), lambda m: (m(2, 4, 9, 9), m(8, 1, 3, 3)), slack=10
    ),
    Operator("conv2d_1x1", F.conv2d, lambda m: (m(2, 8, 7, 7), m(6, 8, 1, 1)), slack=10),
    Operator("conv2d_channels_last", _channels_last, lambda m: (m(2, 4, 9, 9), m(6, 4, 3, 3)), slack=10),
    Operator("conv3d", F.conv3d, lambda m: (m(1, 3, 5, 6, 7), m(4, 3, 2, 3, 3)), slack=10),
    Operator(
        "conv_transpose1d",
        lambda a, b: F.conv_transpose1d(a, b, stride=2),
        lambda m: (m(2, 4, 9), m(4, 5, 3)),
        slack=10,
    ),
    Operator(
        "conv_transpose2d",
        lambda a, b: F.conv_transpose2d(a, b, stride=2, output_padding=1),
        lambda m: (m(2, 4, 5, 5), m(4, 3, 3, 3)),
        slack=10,
    ),
    Operator("max_pool1d", lambda a: F.max_pool1d(a, 2), lambda m: (m.distinct(2, 3, 20),)),
    Operator("max_pool2d", lambda a: F.max_pool2d(a, 3, 2, 1), lambda m: (m.distinct(1, 3, 9, 9),)),
    Operator(
        "max_pool2d_indices",
        lambda a: tuple(F.max_pool2d(a, 2, return_indices=True)),
        lambda m: (m.distinct(1, 3, 8, 8),),
        grad=False,
    ),
    Operator("avg_pool1d", lambda a: F.avg_pool1d(a, 3), lambda m: (m(2, 3, 20),), slack=2),
    Operator(
        "avg_pool2d", lambda a: F.avg_pool2d(a, 3, 2, 1, count_include_pad=False), lambda m: (m(2, 3, 9, 9),), slack=2
    ),
    Operator("avg_pool3d", lambda a: F.avg_pool3d(a, 2), lambda m: (m(2, 3, 4, 6, 6),), SINGLE, slack=2),
    Operator("adaptive_avg_pool2d", lambda a: F.adaptive_avg_pool2d(a, (3, 2)), lambda m: (m(2, 3, 9, 8),), slack=2),
    Operator("adaptive_max_pool2d", lambda a: F.adaptive_max_pool2d(a, (3, 2)), lambda m: (m.distinct(1, 3, 9, 8),)),
    Operator("unfold", lambda a: F.unfold(a, 3, padding=1), lambda m: (m(2, 3, 7, 7),)),
    Operator("fold", lambda a: F.fold(a, (6, 6), 2, stride=2), lambda m: (m(2, 12, 9),)),
    Operator("interpolate_nearest", lambda a: F.interpolate(a, scale_factor=2.0), lambda m: (m(2, 3, 5, 5),)),
    Operator(
        "interpolate_bilinear",
        lambda a: F.interpolate(a, (9, 7), mode="bilinear", align_corners=False),
        lambda m: (m(2, 3, 5, 5),),
        slack=4,
    ),
    Operator(
        "interpolate_bicubic",
        lambda a: F.interpolate(a, (9, 7), mode="bicubic", align_corners=False),
        lambda m: (m(2, 3, 5, 5),),
        SINGLE,
        slack=4,
    ),
    Operator(
        "grid_sample",
        lambda a, b: F.grid_sample(a, b, align_corners=False),
        lambda m: (m(2, 3, 6, 6), m.unit(2, 4, 5, 2)),
        SINGLE,
        slack=10,
    ),
    Operator("pixel_shuffle", lambda a: F.pixel_shuffle(a, 2), lambda m: (m(2, 8, 4, 4),)),
    Operator("pad_reflect", lambda a: F.pad(a, (1, 2, 2, 1), mode="reflect"), lambda m: (m(2, 3, 6, 6),)),
    Operator("pad_replicate", lambda a: F.pad(a, (1, 2, 2, 1), mode="replicate"), lambda m: (m(2, 3, 6, 6),)),
    Operator("pad_circular", lambda a: F.pad(a, (1, 2), mode="circular"), lambda m: (m(2, 3, 6),)),
    Operator(
        "conv2d_large",
        lambda a, b: F.conv2d(a, b, padding=1),
        lambda m: (m(4, 32, 40, 40), m(64, 32, 3, 3)),
        FLOATS,
        "full",
        slack=60,
        strided=False,
    ),
]
TABLE = [row._replace(precise=True) for row in _TABLE]
