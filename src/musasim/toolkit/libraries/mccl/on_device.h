// The current device, for as long as this lives.
#pragma once

#include "musa_runtime_api.h"

namespace musasim::libmccl {

class OnDevice {
 public:
  explicit OnDevice(int device) {
    musaGetDevice(&before_);
    musaSetDevice(device);
  }
  ~OnDevice() {
    musaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

} // namespace musasim::libmccl
