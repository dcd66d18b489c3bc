"""What torchada reads of the toy. A package of its own, because torchada reads it before torch and torch_toy are imported."""
