#include "environment.h"

#include <cstdio>
#include <cstdlib>

namespace musart {

long long read_number(const char* name, long long fallback, long long low) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') {
    return fallback;
  }
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (*end != '\0' || value < low) {
    std::fprintf(stderr, "musasim: %s=%s is not a number that musasim understands; using %lld\n", name, text, fallback);
    return fallback;
  }
  return value;
}

} // namespace musart
