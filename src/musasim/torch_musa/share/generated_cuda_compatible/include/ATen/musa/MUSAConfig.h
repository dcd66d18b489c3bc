#pragma once

// What a CUDA build of PyTorch may have been built with. torch_musa has its own file here, which says no to all of it.
#define AT_CUDNN_ENABLED() 0
#define AT_ROCM_ENABLED() 0
#define AT_MAGMA_ENABLED() 0
