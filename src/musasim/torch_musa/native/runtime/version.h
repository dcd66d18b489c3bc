#pragma once

#include <torch/version.h>

// True from torch `major.minor` on. Every use names the release that changed the interface.
#define MUSASIM_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
