#include "last_error.h"

namespace musart {
namespace {

thread_local musaError_t t_last = musaSuccess;

} // namespace

musaError_t remember(musaError_t error) noexcept {
  if (error != musaSuccess) {
    t_last = error;
  }
  return error;
}

musaError_t last_error() noexcept {
  return t_last;
}

void forget_last_error() noexcept {
  t_last = musaSuccess;
}

} // namespace musart
