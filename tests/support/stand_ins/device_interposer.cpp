// Preloaded, it takes the place of libc10's constructor for every library, as a debugging tool might.
#include <cstdint>
#include <cstdlib>
#include <string>

namespace c10 {
struct Device {
  explicit Device(const std::string& name);
  int8_t type, index;
};

Device::Device(const std::string& name) {
  const auto colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  type = kind == "cuda" ? 1 : kind == "meta" ? 14 : kind == "musa" ? 20 : 0;
  index = colon == std::string::npos ? -1 : static_cast<int8_t>(std::atoi(name.c_str() + colon + 1));
}
} // namespace c10
