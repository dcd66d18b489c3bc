#include "environment.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

namespace musart {
namespace {

void refuse(const char* name, const char* text, const std::string& expected) {
  static auto* mutex = new std::mutex();
  static auto* told = new std::set<std::string>();
  const std::lock_guard<std::mutex> lock(*mutex);
  if (told->insert(name).second) {
    std::fprintf(stderr, "musasim: %s='%s': expected %s; it counts as not set\n", name, text, expected.c_str());
  }
}

std::string range(long long low, long long high) {
  const bool is_open = high == std::numeric_limits<long long>::max();
  return is_open ? "a number of at least " + std::to_string(low) : "a number from " + std::to_string(low) + " to " + std::to_string(high);
}

bool is_one_of(const char* text, const std::array<const char*, 4>& words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return strcasecmp(text, word) == 0; });
}

} // namespace

long long read_number(const char* name, long long fallback, long long low, long long high) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') {
    return fallback;
  }
  errno = 0;
  const long long value = std::strtoll(text, nullptr, 10);
  const bool is_number = std::strspn(text, "0123456789") == std::strlen(text) && errno == 0;
  if (is_number && value >= low && value <= high) {
    return value;
  }
  refuse(name, text, range(low, high));
  return fallback;
}

bool read_flag(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0' || is_one_of(text, {"0", "false", "no", "off"})) {
    return false;
  }
  if (is_one_of(text, {"1", "true", "yes", "on"})) {
    return true;
  }
  refuse(name, text, "1 or 0");
  return false;
}

} // namespace musart
