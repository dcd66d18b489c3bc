// Threads read device strings while another one arms and disarms the native mechanism: for ThreadSanitizer, without torch.
//
// device_parser.c is compiled in and finds c10::Device's constructor in a library of the test's. Arguments: how often to switch.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

extern "C" int parser_arm(void);
extern "C" void parser_disarm(void);

namespace c10 {
struct Device {
    explicit Device(const std::string &name);
    signed char type, index;
};
}

static std::atomic<bool> done{false};
static std::atomic<long> wrong{0}, read{0};

static void reading()
{
    const char *names[] = {"cuda", "cuda:1", "cuda:7", "cpu", "cuda:300", "cuda:x"};
    while (!done)
        for (const char *name : names) {
            c10::Device device{std::string(name)};
            bool is_cuda = name[1] == 'u';
            wrong += is_cuda ? device.type != 1 && device.type != 20 && device.type != -1 : device.type != 0;
            read++;
        }
}

int main(int, char **arguments)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(reading);
    for (int i = std::atoi(arguments[1]); i > 0; i--) {
        if (!parser_arm())
            return 2;
        parser_disarm();
    }
    done = true;
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%ld wrong of %ld\n", wrong.load(), read.load());
    return wrong != 0;
}
