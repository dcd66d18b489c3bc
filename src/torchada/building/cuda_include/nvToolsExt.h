// The header of NVTX 2, which NVTX 3 took over.
#pragma once

#include <nvtx3/nvToolsExt.h>
