#ifdef WITH_CUDA
int run_cuda(const float *x, float *y, int n);
#endif

extern "C" int run(const float *x, float *y, int n) {
#ifdef WITH_CUDA
  return run_cuda(x, y, n);
#else
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;
  return 0;
#endif
}
