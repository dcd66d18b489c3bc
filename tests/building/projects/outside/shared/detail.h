#define SCALE 2.0f
static inline int finish(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
