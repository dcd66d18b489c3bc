// Everything that a kernel finds declared without including anything: what mcc puts before each source, musa_runtime.h aside.
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
