#pragma once

#include "torch_musa/csrc/core/GuardImpl.h"
#include "torch_musa/csrc/core/MUSAStream.h"

#include <c10/core/impl/InlineDeviceGuard.h>
#include <c10/core/impl/InlineStreamGuard.h>
#include <c10/util/ArrayRef.h>

#include <optional>
#include <vector>

namespace c10::musa {

// c10's guards for MUSA: they switch the device or stream for a scope. Their members make them neither copyable nor movable.

struct MUSAGuard {
  MUSAGuard() = delete;
  explicit MUSAGuard(DeviceIndex device) : guard_(device) {}
  explicit MUSAGuard(Device device) : guard_(device) {}

  void set_device(Device device) {
    guard_.set_device(device);
  }
  void reset_device(Device device) {
    guard_.reset_device(device);
  }
  void set_index(DeviceIndex device) {
    guard_.set_index(device);
  }
  Device original_device() const {
    return guard_.original_device();
  }
  Device current_device() const {
    return guard_.current_device();
  }

 private:
  c10::impl::InlineDeviceGuard<impl::MUSAGuardImpl> guard_;
};

struct OptionalMUSAGuard {
  OptionalMUSAGuard() = default;
  explicit OptionalMUSAGuard(std::optional<Device> device) : guard_(device) {}
  explicit OptionalMUSAGuard(std::optional<DeviceIndex> device) : guard_(device) {}

  void set_device(Device device) {
    guard_.set_device(device);
  }
  void reset_device(Device device) {
    guard_.reset_device(device);
  }
  void set_index(DeviceIndex device) {
    guard_.set_index(device);
  }
  std::optional<Device> original_device() const {
    return guard_.original_device();
  }
  std::optional<Device> current_device() const {
    return guard_.current_device();
  }
  void reset() {
    guard_.reset();
  }

 private:
  c10::impl::InlineOptionalDeviceGuard<impl::MUSAGuardImpl> guard_;
};

struct MUSAStreamGuard {
  MUSAStreamGuard() = delete;
  explicit MUSAStreamGuard(Stream stream) : guard_(stream) {}

  void reset_stream(Stream stream) {
    guard_.reset_stream(stream);
  }
  MUSAStream original_stream() const {
    return MUSAStream(MUSAStream::UNCHECKED, guard_.original_stream());
  }
  MUSAStream current_stream() const {
    return MUSAStream(MUSAStream::UNCHECKED, guard_.current_stream());
  }
  Device original_device() const {
    return guard_.original_device();
  }
  Device current_device() const {
    return guard_.current_device();
  }

 private:
  c10::impl::InlineStreamGuard<impl::MUSAGuardImpl> guard_;
};

struct OptionalMUSAStreamGuard {
  OptionalMUSAStreamGuard() = default;
  explicit OptionalMUSAStreamGuard(Stream stream) : guard_(stream) {}
  explicit OptionalMUSAStreamGuard(std::optional<Stream> stream) : guard_(stream) {}

  void reset_stream(Stream stream) {
    guard_.reset_stream(stream);
  }
  std::optional<MUSAStream> original_stream() const {
    return wrap(guard_.original_stream());
  }
  std::optional<MUSAStream> current_stream() const {
    return wrap(guard_.current_stream());
  }
  void reset() {
    guard_.reset();
  }

 private:
  static std::optional<MUSAStream> wrap(std::optional<Stream> stream) {
    return stream ? std::make_optional(MUSAStream(MUSAStream::UNCHECKED, *stream)) : std::nullopt;
  }

  c10::impl::InlineOptionalStreamGuard<impl::MUSAGuardImpl> guard_;
};

// One stream for each of several devices.
struct MUSAMultiStreamGuard {
  explicit MUSAMultiStreamGuard(ArrayRef<MUSAStream> streams)
      : guard_(std::vector<Stream>(streams.begin(), streams.end())) {}

 private:
  c10::impl::InlineMultiStreamGuard<impl::MUSAGuardImpl> guard_;
};

} // namespace c10::musa
