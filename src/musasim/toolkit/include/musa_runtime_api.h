// The runtime's functions in libmusart.so, for C.
#pragma once

#include "vector_types.h"

#define MUSART_EXTENT dim3
#include "musasim/runtime_api.h"
