"""What torchada reads of the toy. A package of its own: it is read before torch_toy, and without torch, is imported."""
