// The declarations that a kernel has without an include. mcc puts them before each source, besides musa_runtime.h.
#pragma once

#include "musasim/atomics.h"
#include "musasim/casts.h"
#include "musasim/device.h"
#include "musasim/integers.h"
#include "musasim/math.h"
#include "musasim/memory.h"
#include "musasim/packed_integers.h"
#include "musasim/rounded.h"
#include "musasim/warp.h"
#include "vector_functions.h"
