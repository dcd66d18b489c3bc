// What switches a profiler on and off: musaProfilerStart and musaProfilerStop. torch_musa 2.7.1 includes this header for them.
#pragma once

#include "musa_runtime_api.h"
