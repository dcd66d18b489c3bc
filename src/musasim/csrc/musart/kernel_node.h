// Kernels in graphs: what a node launches, and how programs ask for it and change it.
#pragma once

#include <memory>
#include <vector>

#include "block.h"

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

// Of launch.cpp: what a launch of these extents would be refused for, and the launch itself.
musaError_t check_launch(const Launch& launch);
void run_kernel(const KernelNode& node);

// Whether a program was given this for the function of a kernel whose function is not known. It cannot be called.
bool is_name_of_kernel(const void* function);

} // namespace musart
