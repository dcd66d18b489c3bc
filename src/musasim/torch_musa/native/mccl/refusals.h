#pragma once

#include "../runtime/release.h"

#include <c10/util/Exception.h>

namespace musasim::mccl {

// What torch_musa's ProcessGroupMCCL refuses. 2.7.1 raises a RuntimeError for all of it, later releases what CUDA's group raises.

template <typename... Text>
void check_value(bool holds, const Text&... text) {
  if (since(Release::v2_9_1)) {
    TORCH_CHECK_VALUE(holds, text...);
  } else {
    TORCH_CHECK(holds, text...);
  }
}

template <typename... Text>
void check_type(bool holds, const Text&... text) {
  if (since(Release::v2_9_1)) {
    TORCH_CHECK_TYPE(holds, text...);
  } else {
    TORCH_CHECK(holds, text...);
  }
}

} // namespace musasim::mccl
