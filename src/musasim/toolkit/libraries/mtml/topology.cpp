// How two devices are connected: as `mthreads-gmi topo` shows it, by one PCIe bridge at the most, and without MtLink.
#include "devices.h"

namespace mtml {
namespace {

unsigned int are_at(int index, MtmlDeviceTopologyLevel level) {
  const auto others = static_cast<unsigned int>(count() - 1);
  return level == MTML_TOPOLOGY_INTERNAL ? 1 : level == MTML_TOPOLOGY_SINGLE && index >= 0 ? others : 0;
}

} // namespace
} // namespace mtml

using namespace mtml;

#pragma GCC visibility push(default)
extern "C" {

MtmlReturn mtmlDeviceGetTopologyLevel(const MtmlDevice* one, const MtmlDevice* other, MtmlDeviceTopologyLevel* level) {
  if (index_of(one) < 0 || index_of(other) < 0 || level == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  *level = one == other ? MTML_TOPOLOGY_INTERNAL : MTML_TOPOLOGY_SINGLE;
  return MTML_SUCCESS;
}

MtmlReturn mtmlDeviceCountDeviceByTopologyLevel(const MtmlDevice* device, MtmlDeviceTopologyLevel level, unsigned int* number) {
  const int index = index_of(device);
  if (index < 0 || number == nullptr || level < 0 || level > MTML_TOPOLOGY_SYSTEM) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  *number = are_at(index, level);
  return MTML_SUCCESS;
}

MtmlReturn mtmlDeviceGetDeviceByTopologyLevel(
    const MtmlDevice* device, MtmlDeviceTopologyLevel level, unsigned int number, MtmlDevice** devices) {
  const int index = index_of(device);
  if (index < 0 || devices == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  if (number < are_at(index, level)) {
    return MTML_ERROR_INSUFFICIENT_SIZE;
  }
  for (int other = 0; other < count(); ++other) {
    if ((other == index) == (level == MTML_TOPOLOGY_INTERNAL) && are_at(index, level) > 0) {
      *devices++ = &g_devices[static_cast<size_t>(other)];
    }
  }
  return MTML_SUCCESS;
}

MtmlReturn mtmlDeviceGetP2PStatus(
    const MtmlDevice* one, const MtmlDevice* other, MtmlDeviceP2PCaps what, MtmlDeviceP2PStatus* status) {
  const bool is_valid = index_of(one) >= 0 && index_of(other) >= 0 && status != nullptr;
  if (!is_valid || (what != MTML_P2P_CAPS_READ && what != MTML_P2P_CAPS_WRITE)) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  *status = MTML_P2P_STATUS_OK;
  return MTML_SUCCESS;
}

MtmlReturn mtmlDeviceCountMtLinkLayouts(const MtmlDevice* one, const MtmlDevice* other, unsigned int* number) {
  if (index_of(one) < 0 || index_of(other) < 0 || number == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  *number = 0;
  return MTML_SUCCESS;
}

} // extern "C"
#pragma GCC visibility pop
