// Threads use the simulated runtime at the same time: memory, streams, events, copies, functions of the host. For ThreadSanitizer.
// Argument: how many rounds each thread makes.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "musa_runtime_api.h"

static void check(musaError_t error, const char *what)
{
    if (error != musaSuccess) {
        std::fprintf(stderr, "%s: %d\n", what, (int)error);
        std::exit(3);
    }
}
#define CHECK(call) check(call, #call)

static void count(void *number) { ++*static_cast<int *>(number); }

static void work(int device, int rounds)
{
    CHECK(musaSetDevice(device));
    for (int round = 0; round < rounds; round++) {
        musaStream_t first, second;
        musaEvent_t event;
        int *memory, host[64] = {}, calls = 0;
        CHECK(musaStreamCreate(&first));
        CHECK(musaStreamCreate(&second));
        CHECK(musaEventCreate(&event));
        CHECK(musaMalloc((void **)&memory, sizeof host));
        CHECK(musaMemsetAsync(memory, round & 127, sizeof host, first));
        CHECK(musaEventRecord(event, first));
        CHECK(musaStreamWaitEvent(second, event, 0));
        CHECK(musaMemcpyAsync(host, memory, sizeof host, musaMemcpyDeviceToHost, second));
        CHECK(musaLaunchHostFunc(second, count, &calls));
        CHECK(musaStreamSynchronize(second));
        if (calls != 1 || (host[63] & 255) != (round & 127))
            std::exit(4);
        CHECK(musaFree(memory));
        CHECK(musaEventDestroy(event));
        CHECK(musaStreamDestroy(first));
        CHECK(musaStreamDestroy(second));
    }
}

int main(int, char **arguments)
{
    int devices = 0;
    CHECK(musaGetDeviceCount(&devices));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, i % devices, std::atoi(arguments[1]));
    for (std::thread &thread : threads)
        thread.join();
    std::puts("done");
}
