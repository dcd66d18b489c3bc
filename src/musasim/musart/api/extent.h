// Extents as the C API has them.
#pragma once

#include "../engine/configuration.h"
#include "../include/musa_runtime_api.h"

namespace musart {

inline Extent extent_of(const MusartExtent& from) {
  return {from.x, from.y, from.z};
}

} // namespace musart
