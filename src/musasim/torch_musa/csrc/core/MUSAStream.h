#pragma once

#include "torch_musa/csrc/aten/utils/Utils.h"
#include "torch_musa/csrc/core/MUSAException.h"
#include "torch_musa/csrc/core/MUSAFunctions.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <musa_runtime_api.h>

#include <functional>
#include <ostream>
#include <tuple>

namespace c10::musa {

using at::musa::kMUSA;

// A stream of a MUSA device. It is a c10::Stream, and converts to a musaStream_t.
class MUSAStream {
 public:
  enum Unchecked { UNCHECKED };

  explicit MUSAStream(Stream stream) : stream_(stream) {
    TORCH_CHECK(stream_.device_type() == kMUSA);
  }
  explicit MUSAStream(Unchecked, Stream stream) : stream_(stream) {}

  bool operator==(const MUSAStream& other) const noexcept {
    return stream_ == other.stream_;
  }
  bool operator!=(const MUSAStream& other) const noexcept {
    return stream_ != other.stream_;
  }

  operator musaStream_t() const {
    return stream();
  }
  operator Stream() const {
    return stream_;
  }

  DeviceType device_type() const {
    return kMUSA;
  }
  DeviceIndex device_index() const {
    return stream_.device_index();
  }
  Device device() const {
    return Device(kMUSA, device_index());
  }
  StreamId id() const {
    return stream_.id();
  }

  bool query() const {
    const DeviceGuard guard(device());
    const auto error = musaStreamQuery(stream());
    if (error == musaErrorNotReady) {
      (void)musaGetLastError();
      return false;
    }
    C10_MUSA_CHECK(error);
    return true;
  }
  void synchronize() const {
    const DeviceGuard guard(device());
    C10_MUSA_CHECK(musaStreamSynchronize(stream()));
  }
  int priority() const {
    const DeviceGuard guard(device());
    int value = 0;
    C10_MUSA_CHECK(musaStreamGetPriority(stream(), &value));
    return value;
  }

  C10_MUSA_API musaStream_t stream() const;

  Stream unwrap() const {
    return stream_;
  }
  StreamData3 pack3() const {
    return stream_.pack3();
  }
  static MUSAStream unpack3(StreamId id, DeviceIndex device, DeviceType type) {
    return MUSAStream(Stream::unpack3(id, device, type));
  }

  // Least and greatest: a greater priority is a smaller number.
  static std::tuple<int, int> priority_range() {
    int least = 0;
    int greatest = 0;
    C10_MUSA_CHECK(musaDeviceGetStreamPriorityRange(&least, &greatest));
    return {least, greatest};
  }

 private:
  Stream stream_;
};

// A device index of -1 is the current device.
C10_MUSA_API MUSAStream getStreamFromPool(bool isHighPriority = false, DeviceIndex device = -1);
C10_MUSA_API MUSAStream getStreamFromPool(int priority, DeviceIndex device = -1);
C10_MUSA_API MUSAStream getStreamFromExternal(musaStream_t stream, DeviceIndex device);
C10_MUSA_API MUSAStream getDefaultMUSAStream(DeviceIndex device = -1);
C10_MUSA_API MUSAStream getCurrentMUSAStream(DeviceIndex device = -1);
C10_MUSA_API void setCurrentMUSAStream(MUSAStream stream);

inline std::ostream& operator<<(std::ostream& out, const MUSAStream& stream) {
  return out << stream.unwrap();
}

} // namespace c10::musa

// As in CUDA's, everything of c10::musa is reachable under at::musa.
namespace at::musa {
using namespace c10::musa;
} // namespace at::musa

template <>
struct std::hash<c10::musa::MUSAStream> {
  size_t operator()(c10::musa::MUSAStream stream) const noexcept {
    return std::hash<c10::Stream>{}(stream.unwrap());
  }
};
