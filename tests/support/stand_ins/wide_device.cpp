// A libc10 of another version, whose devices are more than two bytes: it both defines the constructor and calls it.
#include <cstdlib>
#include <cstring>
#include <string>

namespace c10 {
struct Device {
  explicit Device(const std::string& name);
  int8_t type, index;
  int made;
};

static int all = 0;

Device::Device(const std::string& name) {
  const auto colon = name.find(':');
  type = name.substr(0, colon) == "cuda" ? 1 : 20;
  index = colon == std::string::npos ? -1 : static_cast<int8_t>(std::atoi(name.c_str() + colon + 1));
  made = ++all;
}
} // namespace c10

// The three, as bytes.
extern "C" void parse(const char* name, c10::Device* answer) {
  const c10::Device device{std::string(name)};
  std::memcpy(static_cast<void*>(answer), &device, sizeof device);
}
