#pragma once

#include "../runtime/replay_memory.h"
#include "signature.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>
#include <c10/util/SmallVector.h>

#include <functional>
#include <utility>

namespace musasim {

// Runs an operator beside the device, so that nothing of it can be seen: what it writes lies in memory of the host meanwhile, and so
// do its results. This tells the shapes of the results, and raises what is wrong with the arguments.
class Trial {
 public:
  Trial(const Signature& signature, torch::jit::Stack arguments, size_t results, c10::Device device)
      : signature_(signature), arguments_(std::move(arguments)), results_count_(results), device_(device) {}

  // Whether the operator can run later: it has only written to tensors that it was given, or into new ones.
  bool run(const std::function<void(torch::jit::Stack*)>& operation);

  // The results, in memory of the device that nothing has been written to yet.
  torch::jit::Stack take_results();

  // Where the operator allocates when it runs later. After take_results().
  AllocationPlan plan() const;

 private:
  void put_written_aside();
  void put_aside(const c10::Storage& storage, const torch::jit::Stack& arguments);
  const c10::Storage* aside_for(const at::Tensor& tensor) const;
  at::Tensor beside(const at::Tensor& tensor);
  c10::IValue beside(const c10::IValue& value);
  bool is_unchanged() const;
  bool is_usual(const c10::IValue& result) const;
  bool is_given(const at::Tensor& tensor) const;
  at::Tensor on_device(const at::Tensor& result);
  c10::IValue on_device(const c10::IValue& result);

  struct Aside {
    c10::Storage device, host;
  };
  struct Pair {
    at::Tensor given, stand_in;
  };
  struct Moved {
    c10::Storage host, device;
  };

  const Signature& signature_;
  torch::jit::Stack arguments_;
  torch::jit::Stack results_;
  size_t results_count_;
  c10::Device device_;
  AllocationPlan noted_;
  c10::SmallVector<Aside, 2> aside_;
  c10::SmallVector<Pair, 4> pairs_;
  c10::SmallVector<Moved, 2> moved_;
};

} // namespace musasim
