#include "launch_watcher.h"

namespace musart {

std::atomic<LaunchWatcher> launch_watcher{nullptr};

} // namespace musart
