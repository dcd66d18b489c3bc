#pragma once

namespace musasim {

// The releases of torch_musa, oldest first, as musasim.base.release names them.
enum class Release { v2_7_1, v2_9_1, v2_11_0 };

// Which one is simulated: the Python part says so when it loads this one, and not again.
inline Release& simulated_release() {
  static Release chosen = Release::v2_7_1;
  return chosen;
}

inline bool since(Release release) {
  return simulated_release() >= release;
}

} // namespace musasim
