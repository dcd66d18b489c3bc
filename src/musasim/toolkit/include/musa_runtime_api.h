// The runtime's functions: of libmusart.so, in C.
#pragma once

#include "vector_types.h"

#define MUSART_EXTENT dim3
#include "musasim/runtime_api.h"
