// The name that torch_musa's table of porting rules gives for ATen/cuda/CUDAGeneratorImpl.h.
#pragma once

#include "torch_musa/csrc/aten/musa/MUSAGeneratorImpl.h"
