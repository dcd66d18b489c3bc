"""Whisper's word timestamps: dynamic time warping and a median filter."""

import torch
from comparing import error, report
from torch.nn import functional as F
from whisper.timing import dtw_cpu, dtw_cuda
from whisper.triton_ops import median_filter_cuda


def warping():
    costs = torch.randn(20, 35)
    return float(abs(dtw_cuda(costs.cuda()) - dtw_cpu(costs.double().numpy())).max())


def median_filter():
    padded = F.pad(torch.randn(2, 3, 40), (3, 3), mode="reflect")
    return error(median_filter_cuda(padded.cuda(), 7), padded.unfold(-1, 7, 1).median(-1).values)


report({"dtw": warping, "median_filter": median_filter})
