// PyTorch's own, and TORCH_BOX where it has none.
#pragma once
#include_next <torch/csrc/stable/library.h>

#include <torchada_stable.h>
