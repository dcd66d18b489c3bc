// The device's functions: barriers, atomics, warp functions.
#pragma once

#include "musa_runtime.h"
