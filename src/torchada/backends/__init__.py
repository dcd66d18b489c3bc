"""WHO: descriptors of the accelerators that can stand in for CUDA, and the choice among them."""
