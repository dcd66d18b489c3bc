#include "chosen_seed.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace musart {
namespace {

uint64_t any_number() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) % 1000000;
}

Seed read_seed(const char* text) {
  if (text == nullptr || *text == '\0') return {};
  if (std::strcmp(text, "random") == 0) {
    const Seed chosen{true, any_number()};
    std::fprintf(stderr, "musasim: kernels run in the order of MUSASIM_SEED=%llu\n", static_cast<unsigned long long>(chosen.number));
    return chosen;
  }
  if (std::strspn(text, "0123456789") == std::strlen(text)) return {true, std::strtoull(text, nullptr, 10)};
  std::fprintf(stderr, "musasim: MUSASIM_SEED=%s is neither a number nor 'random'; kernels run in the order of their numbers\n", text);
  return {};
}

} // namespace

const Seed& chosen_seed() {
  static const auto* chosen = new Seed(read_seed(std::getenv("MUSASIM_SEED")));
  return *chosen;
}

} // namespace musart
