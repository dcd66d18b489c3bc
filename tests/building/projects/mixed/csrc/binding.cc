#include "beside.h"
#include "shared.h"

static_assert(SCALE == 2, "only the flags for MUSA's compiler define it");

extern "C" int run(const float* x, float* y, int n) {
  cudaStream_t stream = nullptr;
  scale(x, y, n, stream);
  add(y, n, stream);
  return synchronized(stream) ? 0 : 1;
}
