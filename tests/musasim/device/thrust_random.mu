// Thrust's random numbers, and the algorithms that replace, shuffle and measure.
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/host_vector.h>
#include <thrust/random.h>
#include <thrust/replace.h>
#include <thrust/shuffle.h>

#include "on_device.h"

static_assert(THRUST_VERSION >= 101700, "every header of Thrust's has it");

__global__ void draw(double* out) {
  thrust::default_random_engine engine(5);
  engine.discard(1000);
  thrust::uniform_real_distribution<float> floats(-1, 1);
  thrust::uniform_int_distribution<int> dice(1, 6);
  out[0] = engine();
  out[1] = floats(engine);
  out[2] = dice(engine);
  thrust::minstd_rand0 other;
  out[3] = other();
}
extern "C" int drawn(double* out) {
  Buffer<double> result(out, 4);
  draw<<<1, 1>>>(result.data());
  result.back();
  return finished();
}

struct IsNegative {
  __device__ bool operator()(int value) const { return value < 0; }
};
// Smallest and largest, their distance; `in` with negative ones replaced by 0, with ones by 9, and shuffled.
extern "C" int changed(int* in, int* out, long n) {
  thrust::device_vector<int> values(in, in + n);
  const auto ends = thrust::minmax_element(values.begin(), values.end());
  out[0] = *ends.first;
  out[1] = *ends.second;
  out[2] = static_cast<int>(thrust::distance(ends.first, ends.second));
  int* const rows = out + 3;
  thrust::replace_if(values.begin(), values.end(), IsNegative(), 0);
  thrust::copy(values.begin(), values.end(), rows);
  thrust::replace(thrust::device, values.begin(), values.end(), 1, 9);
  thrust::copy(values.begin(), values.end(), rows + n);
  thrust::default_random_engine engine(3);
  thrust::shuffle(values.begin(), values.end(), engine);
  thrust::copy(values.begin(), values.end(), rows + 2 * n);
  return finished();
}
