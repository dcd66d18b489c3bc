// As much of muDNN's header, which is not public, as the headers of torch_musa name. It is for compiling them, not for running.
#pragma once

#include <functional>
#include <memory>

namespace musa::dnn {

enum class Status { SUCCESS };

struct Handle {};
struct Tensor {};

struct Unary {
  enum class Mode {};
};

struct Binary {
  enum class Mode {};
};

struct Ternary {
  enum class Mode {};
};

struct Convolution {
  enum class ComputeMode {};
};

using MemoryHandler = std::unique_ptr<void, std::function<void(void*)>>;

} // namespace musa::dnn
