template <typename T>
__global__ void kernel(const T *x, T *y, int n) {
  extern __shared__ unsigned char bytes[];
  T *shared = reinterpret_cast<T *>(bytes);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    shared[threadIdx.x] = x[i];
    y[i] = T(2) * shared[threadIdx.x] + OFFSET;
  }
}
