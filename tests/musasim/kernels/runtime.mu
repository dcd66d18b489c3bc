// The runtime's functions around kernels. Prints one line for each thing that is wrong.
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

static int failures = 0;
#define CHECK(condition) ((condition) ? void() : (++failures, void(std::printf("line %d: %s (last error: %s)\n", __LINE__, #condition, musaGetErrorName(musaPeekAtLastError())))))
#define OK(call) CHECK((call) == musaSuccess)

__global__ void add(int* to, int value) { atomicAdd(to + blockIdx.x, value); }
__global__ void big_shared(int* out) {
  extern __shared__ int space[];
  space[musasim_dynamic_shared_bytes / sizeof(int) - 1] = 4;
  out[0] = space[musasim_dynamic_shared_bytes / sizeof(int) - 1];
}
__global__ void __launch_bounds__(128, 2) limited(float* out) {
  __shared__ float tile[1024];
  tile[threadIdx.x] = 1;
  out[0] = tile[threadIdx.x];
}
__global__ void uninitialised(int* out) {
  __shared__ int never_written[4];
  out[threadIdx.x] = never_written[threadIdx.x];
}
// Every block adds its number to a total, which all of them can read behind the barrier.
__global__ void together(int* out) {
  __shared__ int own;
  extern __shared__ int copies[];
  if (threadIdx.x == 0) own = blockIdx.x + 1;
  __syncthreads();
  copies[threadIdx.x] = own * 10;
  atomicAdd(out, own);
  musasim_grid_barrier();
  if (copies[threadIdx.x] == own * 10) atomicAdd(out + 1, *out);
}
__managed__ int managed_variable = 3;
__global__ void use_managed(int* data, int n) {
  __builtin_assume(n > 0);
  if (threadIdx.x < n) data[threadIdx.x] += managed_variable;
}
__global__ void votes(int* out, int live) {
  if (threadIdx.x >= live) return;  // barriers wait for the rest
  const int odd = __syncthreads_count(threadIdx.x & 1);
  const int all = __syncthreads_and(threadIdx.x < 40);
  const int any = __syncthreads_or(threadIdx.x == 5);
  out[threadIdx.x] = odd * 100 + all * 10 + any;
}
// Whole warps wait at different places: what one stores, the other reads.
__global__ void apart(int* out) {
  __shared__ int stored[64];
  if (threadIdx.x < 32) {
    stored[threadIdx.x] = 3 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = stored[threadIdx.x + 32];
  } else {
    stored[threadIdx.x] = 5 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = stored[threadIdx.x - 32];
  }
}
__global__ void lanes(unsigned* out) {
  unsigned mask = 0;
  if (threadIdx.x % 3 == 0) mask = __activemask(); else mask = ~__activemask();
  out[threadIdx.x] = mask;
  unsigned wave = 0;
  for (int turn = 0; turn < static_cast<int>(threadIdx.x) % 4; ++turn) wave = __activemask();  // the longest go on alone
  out[threadIdx.x + 64] = wave;
}
__global__ void ping_pong(volatile int* flag) {
  if (threadIdx.x == 0) {
    while (flag[0] == 0) __nanosleep(10);  // for a thread that has not begun
    flag[1] = 2;
  } else {
    flag[0] = 1;
  }
}

// Shared memory of fixed addresses, and barriers between writing and reading it.
__global__ void rotate(int* out, int base) {
  __shared__ int s[32];
  s[threadIdx.x] = base + threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[(threadIdx.x + 1) % 32];
}
__global__ void prints() { printf("thread %u of %u\n", threadIdx.x, blockDim.x); }

static int value_of(const int* p, int at = 0) {
  int value = -1;
  musaMemcpy(&value, p + at, sizeof(int), musaMemcpyDeviceToHost);
  return value;
}

int main() {
  int* p = nullptr;
  OK(musaMalloc(&p, 4096));
  OK(musaMemset(p, 0, 4096));
  prints<<<1, 2>>>();
  OK(musaDeviceSynchronize());

  // streams and events
  musaStream_t stream, other;
  musaEvent_t begin, end;
  OK(musaStreamCreate(&stream));
  OK(musaStreamCreateWithFlags(&other, musaStreamNonBlocking));
  OK(musaEventCreate(&begin));
  OK(musaEventCreate(&end));
  OK(musaEventRecord(begin, stream));
  add<<<2, 3, 0, stream>>>(p, 1);
  OK(musaEventRecord(end, stream));
  OK(musaStreamWaitEvent(other, end));
  add<<<1, 1, 0, other>>>(p, 10);
  OK(musaStreamSynchronize(other));
  float milliseconds = -1;
  OK(musaEventElapsedTime(&milliseconds, begin, end));
  CHECK(milliseconds >= 0 && milliseconds < 1000);
  CHECK(value_of(p) == 13 && value_of(p, 1) == 3);
  static int called = 0;
  OK(musaLaunchHostFunc(stream, [](void* data) { called = *static_cast<int*>(data); }, &failures));
  OK(musaStreamAddCallback(stream, [](musaStream_t, musaError_t status, void*) { called += 1 + status; }, nullptr, 0));
  CHECK(called == failures + 1);

  // graphs: recorded, not run; run when launched, as often as one likes
  musaGraph_t graph;
  musaGraphExec_t executable;
  OK(musaMemset(p, 0, 4096));
  OK(musaStreamBeginCapture(stream, musaStreamCaptureModeGlobal));
  add<<<1, 2, 0, stream>>>(p, 5);
  OK(musaMemcpyAsync(p + 1, p, sizeof(int), musaMemcpyDeviceToDevice, stream));
  OK(musaStreamEndCapture(stream, &graph));
  CHECK(value_of(p) == 0);
  size_t nodes = 0;
  OK(musaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 2);
  musaGraphNode_t node[2];
  OK(musaGraphGetNodes(graph, node, &nodes));
  OK(musaGraphInstantiate(&executable, graph, nullptr, nullptr, 0));

  // what a kernel's node launches: asked of the graph, changed in the executable alone
  musaGraphNodeType type;
  musaKernelNodeParams launch{};
  OK(musaGraphNodeGetType(node[1], &type));
  CHECK(type == musaGraphNodeTypeMemcpy && musaGraphKernelNodeGetParams(node[1], &launch) == musaErrorInvalidValue);
  OK(musaGraphNodeGetType(node[0], &type));
  CHECK(type == musaGraphNodeTypeKernel && musaGetLastError() == musaErrorInvalidValue);
  OK(musaGraphKernelNodeGetParams(node[0], &launch));
  CHECK(launch.gridDim.x == 1 && launch.blockDim.x == 2 && launch.sharedMemBytes == 0 && launch.extra == nullptr);
  CHECK(*static_cast<int**>(launch.kernelParams[0]) == p && *static_cast<int*>(launch.kernelParams[1]) == 5);
  *static_cast<int*>(launch.kernelParams[1]) = 7;
  OK(musaGraphLaunch(executable, stream));
  CHECK(value_of(p) == 10); // two threads, and parameters of its own
  launch.blockDim.x = 1;
  OK(musaGraphExecKernelNodeSetParams(executable, node[0], &launch));
  OK(musaMemset(p, 0, 4096));
  OK(musaGraphLaunch(executable, stream));
  CHECK(value_of(p) == 7 && value_of(p, 1) == 7 && value_of(p, 2) == 0);
  launch.blockDim.x = 4096;
  CHECK(musaGraphExecKernelNodeSetParams(executable, node[0], &launch) == musaErrorInvalidConfiguration);
  CHECK(musaGraphExecKernelNodeSetParams(executable, node[1], &launch) == musaErrorInvalidValue);
  CHECK(musaLaunchKernel(launch.func, dim3(1), dim3(1), launch.kernelParams, 0, stream) == musaErrorInvalidDeviceFunction);
  CHECK(musaGetLastError() == musaErrorInvalidDeviceFunction);
  launch.blockDim.x = 2;
  *static_cast<int*>(launch.kernelParams[1]) = 5;
  OK(musaGraphExecKernelNodeSetParams(executable, node[0], &launch));
  OK(musaMemset(p, 0, 4096));

  // the function of a launch by its address is known
  musaGraph_t named;
  int amount = 3;
  void* of_named[] = {&p, &amount};
  OK(musaStreamBeginCapture(stream, musaStreamCaptureModeGlobal));
  OK(musaLaunchKernel(reinterpret_cast<void*>(add), dim3(1), dim3(1), of_named, 0, stream));
  OK(musaStreamEndCapture(stream, &named));
  nodes = 1;
  OK(musaGraphGetNodes(named, node + 1, &nodes));
  OK(musaGraphKernelNodeGetParams(node[1], &launch));
  CHECK(launch.func == reinterpret_cast<void*>(add) && *static_cast<int*>(launch.kernelParams[1]) == 3);
  CHECK(musaGraphExecKernelNodeSetParams(executable, node[1], &launch) == musaErrorInvalidValue); // of another graph
  musaGetLastError();
  OK(musaGraphDestroy(named));
  CHECK(musaGraphNodeGetType(node[1], &type) == musaErrorInvalidValue);
  musaGetLastError();
  OK(musaGraphDestroy(graph));
  OK(musaGraphLaunch(executable, stream));
  OK(musaGraphLaunch(executable, stream));
  CHECK(value_of(p) == 20 && value_of(p, 1) == 20);
  OK(musaGraphExecDestroy(executable));
  CHECK(musaGraphLaunch(executable, stream) == musaErrorInvalidValue);
  CHECK(musaGetLastError() == musaErrorInvalidValue);

  // graphs on two streams run in turns, unless something orders them
  musaStream_t beside[2];
  musaGraphExec_t turns[2];
  for (int at = 0; at < 2; ++at) {
    OK(musaStreamCreate(&beside[at]));
    OK(musaStreamBeginCapture(beside[at], musaStreamCaptureModeGlobal));
    add<<<1, 1, 0, beside[at]>>>(p, at + 1);
    OK(musaMemcpyAsync(p + 1 + at, p, sizeof(int), musaMemcpyDeviceToDevice, beside[at]));
    OK(musaStreamEndCapture(beside[at], &graph));
    OK(musaGraphInstantiate(&turns[at], graph, nullptr, nullptr, 0));
    OK(musaGraphDestroy(graph));
  }
  for (bool ordered : {true, false}) {
    OK(musaMemset(p, 0, 4096));
    OK(musaGraphLaunch(turns[0], beside[0]));
    if (ordered) {
      OK(musaStreamSynchronize(beside[0]));
    }
    OK(musaGraphLaunch(turns[1], beside[1]));
    CHECK(value_of(p) == 3 && value_of(p, 1) == (ordered ? 1 : 3) && value_of(p, 2) == 3);
  }

  // dynamic shared memory beyond the usual
  big_shared<<<1, 1, 100 * 1024>>>(p);
  CHECK(musaGetLastError() == musaErrorInvalidValue);
  OK(musaFuncSetAttribute(big_shared, musaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
  big_shared<<<1, 1, 100 * 1024>>>(p);
  OK(musaGetLastError());
  CHECK(value_of(p) == 4);
  CHECK(musaFuncSetAttribute(big_shared, musaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) == musaErrorInvalidValue);
  musaFuncAttributes carved;
  OK(musaFuncSetAttribute(big_shared, musaFuncAttributePreferredSharedMemoryCarveout, musaSharedmemCarveoutMaxL1));
  CHECK(musaFuncSetAttribute(big_shared, musaFuncAttributePreferredSharedMemoryCarveout, 101) == musaErrorInvalidValue);
  OK(musaFuncGetAttributes(&carved, big_shared));
  CHECK(carved.preferredShmemCarveout == 0 && musaSharedmemCarveoutDefault == -1 && musaSharedmemCarveoutMaxShared == 100);
  musaGetLastError();

  // what is known of a kernel
  limited<<<1, 128>>>(reinterpret_cast<float*>(p));
  musaFuncAttributes attributes;
  OK(musaFuncGetAttributes(&attributes, limited));
  CHECK(attributes.maxThreadsPerBlock == 128 && attributes.sharedSizeBytes == 4096 && attributes.binaryVersion == 31);
  int grid = 0, block = 0, blocks = 0;
  OK(musaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, limited, 128, 0));
  CHECK(blocks == 16);
  OK(musaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, limited, 128, 60 * 1024));
  CHECK(blocks == 3);
  OK(musaOccupancyMaxPotentialBlockSize(&grid, &block, limited));
  CHECK(block == 128 && grid == 16 * 56);
  OK(musaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, add, [](int threads) { return threads * 512; }));
  CHECK(block * 512 <= 192 * 1024 && block % 32 == 0);

  // shared memory does not look like good values before it is written
  uninitialised<<<1, 4>>>(p);
  CHECK(value_of(p) == -1 && value_of(p, 3) == -1);

  // a barrier of the grid
  OK(musaMemset(p, 0, 4096));
  void* arguments[] = {&p};
  OK(musaLaunchCooperativeKernel(together, dim3(4), dim3(2), arguments, 2 * sizeof(int), nullptr));
  CHECK(value_of(p) == 20 && value_of(p, 1) == 8 * 20);
  CHECK(musaLaunchCooperativeKernel(together, 100000, 1024, arguments) == musaErrorCooperativeLaunchTooLarge);
  musaGetLastError();

  // managed memory and variables
  int* managed = nullptr;
  OK(musaMallocManaged(&managed, 4 * sizeof(int)));
  managed[0] = 1;
  managed_variable = 4;
  use_managed<<<1, 32>>>(managed, 4);
  OK(musaDeviceSynchronize());
  CHECK(managed[0] == 5 && managed[3] == 4);
  musaPointerAttributes where;
  OK(musaPointerGetAttributes(&where, managed + 1));
  CHECK(where.type == musaMemoryTypeManaged && where.hostPointer == managed + 1);
  OK(musaMemPrefetchAsync(managed, 16, 0));
  CHECK(musaMemPrefetchAsync(p, 16, 0) == musaErrorInvalidValue);
  OK(musaFree(managed));
  musaGetLastError();

  // rows with a pitch
  char* rows = nullptr;
  size_t pitch = 0;
  OK(musaMallocPitch(&rows, &pitch, 10, 3));
  CHECK(pitch == 512);
  OK(musaMemset2D(rows, pitch, 'a', 10, 3));
  std::vector<char> host(30, 'b');
  OK(musaMemcpy2D(host.data(), 10, rows, pitch, 9, 3, musaMemcpyDeviceToHost));
  CHECK(std::string(host.begin(), host.end()) == "aaaaaaaaabaaaaaaaaabaaaaaaaaab");
  CHECK(musaMemcpy2D(host.data(), 5, rows, pitch, 9, 3, musaMemcpyDeviceToHost) == musaErrorInvalidPitchValue);
  CHECK(musaMemcpy2D(host.data(), 10, rows, pitch, 9, 4, musaMemcpyDeviceToHost) == musaErrorInvalidValue);
  CHECK(musaMemset2D(rows, pitch, 0, 10, 4) == musaErrorInvalidValue);
  musaGetLastError();

  // properties
  musaDeviceProp properties;
  OK(musaGetDeviceProperties(&properties, 0));
  CHECK(properties.warpSize == 32 && properties.major == 3 && properties.cooperativeLaunch == 1);
  int value = 0;
  OK(musaDeviceGetAttribute(&value, musaDevAttrMaxThreadsPerBlock, 0));
  CHECK(value == properties.maxThreadsPerBlock);
  CHECK(musaGetDeviceProperties(&properties, 9) == musaErrorInvalidDevice && musaGetLastError() == musaErrorInvalidDevice);

  // barriers with votes; threads that have returned do not count
  votes<<<1, 64>>>(p, 50);
  CHECK(value_of(p) == 2501 && value_of(p, 49) == 2501);
  OK(musaMemset(p, 0, 4096));
  lanes<<<1, 40>>>(reinterpret_cast<unsigned*>(p));
  const unsigned thirds = 0x49249249u;
  CHECK(static_cast<unsigned>(value_of(p)) == thirds && static_cast<unsigned>(value_of(p, 1)) == thirds);
  CHECK(static_cast<unsigned>(value_of(p, 64 + 3)) == 0x88888888u && value_of(p, 64 + 35) == 0x88);
  apart<<<1, 64>>>(p);
  CHECK(value_of(p, 7) == 5 * 39 && value_of(p, 39) == 3 * 7);
  OK(musaMemset(p, 0, 4096));
  ping_pong<<<1, 2>>>(p);
  CHECK(value_of(p, 1) == 2);

  // several threads of the host
  int wrong[4] = {};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([p, number, &wrong] {
      int* const own = p + 64 * number;
      for (int turn = 0; turn < 200; ++turn) {
        rotate<<<1, 32>>>(own, 1000 * number + turn);
        wrong[number] += own[31] != 1000 * number + turn || own[0] != own[31] + 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong[0] + wrong[1] + wrong[2] + wrong[3] == 0);

  // compile-time facts
  CHECK(__MUSA_ARCH__ == 310 && MUSART_VERSION == 50100 && MUSA_VERSION == 50100 && __MUSACC__);
  OK(musaGetLastError());
  std::printf("%d wrong\n", failures);
  return failures;
}
