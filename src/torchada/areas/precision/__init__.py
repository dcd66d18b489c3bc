"""The precision that is computed in: autocast, gradient scaling, TF32, and the switches of torch.backends."""

AREAS = {
    "torch": ("amp", "tf32", "backends_cuda", "backends_cudnn"),
}
