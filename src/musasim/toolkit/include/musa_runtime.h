// Everything that a .mu file has without an include, because mcc includes this first. For other compilers, only the runtime.
#pragma once

#define __MUSA_RUNTIME_H__

#include "host_defines.h"
#include "vector_types.h"
#include "vector_functions.h"
#include "musa_runtime_api.h"

#ifdef __cplusplus
#include "musasim/runtime_templates.h"
#include "musa_texture_types.h"
#endif

#ifdef __MUSACC__
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "musasim/device.h"
#include "musasim/device_functions.h"
#include "musasim/conversions.h"
#include "musasim/launch.h"

// glibc's assert() calls this, in kernels as on the host.
#define __assert_fail musasim_assert_fail
#endif
