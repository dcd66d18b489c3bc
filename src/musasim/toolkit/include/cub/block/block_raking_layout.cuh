// cub::BlockRakingLayout: partial results of a block in shared memory, for one warp to go over in segments.
#pragma once

#include "cub/util_type.cuh"

CUB_NAMESPACE_BEGIN

template <class T, int BLOCK_THREADS, int = 0>
struct BlockRakingLayout {
  enum {
    SHARED_ELEMENTS = BLOCK_THREADS,
    MAX_RAKING_THREADS = CUB_MIN(BLOCK_THREADS, 32),
    SEGMENT_LENGTH = (SHARED_ELEMENTS + MAX_RAKING_THREADS - 1) / MAX_RAKING_THREADS,
    RAKING_THREADS = (SHARED_ELEMENTS + SEGMENT_LENGTH - 1) / SEGMENT_LENGTH,
    // The real one pads its segments against bank conflicts. The simulated device has none.
    GRID_ELEMENTS = RAKING_THREADS * SEGMENT_LENGTH,
    UNGUARDED = SHARED_ELEMENTS % RAKING_THREADS == 0,
  };
  struct Grid {
    T elements[GRID_ELEMENTS];
  };
  struct TempStorage : Uninitialized<Grid> {};

  static T* PlacementPtr(TempStorage& storage, unsigned int thread) { return storage.Alias().elements + thread; }
  static T* RakingPtr(TempStorage& storage, unsigned int thread) { return storage.Alias().elements + thread * SEGMENT_LENGTH; }
};

CUB_NAMESPACE_END
