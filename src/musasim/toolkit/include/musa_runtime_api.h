// The runtime's functions in libmusart.so, for C.
#pragma once

#include "host_defines.h" // declarations say __host__, whichever compiler reads them
#include "vector_types.h"

#define MUSART_EXTENT dim3
#include "musasim/runtime_api.h"

// Memory pools of the runtime: their types, which declarations name. libmusart.so has no functions for them.
typedef struct MUmemPoolHandle_st* musaMemPool_t;
typedef enum musaMemPoolAttr {
  musaMemPoolReuseFollowEventDependencies = 1,
  musaMemPoolReuseAllowOpportunistic = 2,
  musaMemPoolReuseAllowInternalDependencies = 3,
  musaMemPoolAttrReleaseThreshold = 4,
  musaMemPoolAttrReservedMemCurrent = 5,
  musaMemPoolAttrReservedMemHigh = 6,
  musaMemPoolAttrUsedMemCurrent = 7,
  musaMemPoolAttrUsedMemHigh = 8
} musaMemPoolAttr;
