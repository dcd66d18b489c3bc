// Kernels in graphs: what a node launches.
#pragma once

#include <memory>
#include <vector>

#include "configuration.h"

namespace musart {

using Tell = void (*)(void* data, musasim_parameters* parameters);

struct Parameter {
  void* address;
  size_t bytes;
};

struct KernelNode {
  Launch launch;
  int device = 0;
  std::shared_ptr<void> data; // a copy of the closure, which has those of the parameters
  const musasim_closure* closure = nullptr;
  Tell tell = nullptr; // nullptr: the kernel was compiled before this was known
  const void* function = nullptr; // what musaLaunchKernel was given
  std::vector<void*> told; // what kernelParams points to

  std::vector<Parameter> parameters() const;
  std::shared_ptr<KernelNode> copied() const;
};

void run_kernel(const KernelNode& node);

// What a program gets for the function of a node: the function, or a name that cannot be called where it is not known.
void* function_of(const KernelNode& node);
bool is_name_of_kernel(const void* function);

} // namespace musart
