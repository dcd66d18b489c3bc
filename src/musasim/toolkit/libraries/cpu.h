// What the host libraries stand on: the routines of BLAS and LAPACK inside PyTorch's libtorch_cpu.so, and the order of streams.
#pragma once

#include <dlfcn.h>

#include <cstdio>

#include "in_stream.h"

namespace musasim {

// A routine by its Fortran name, as "sgemm_", or nullptr. The process has loaded PyTorch if it is a program of torch_musa's; otherwise
// the dynamic linker looks for the library.
inline void* cpu_routine(const char* name) {
  static void* const library = [] {
    void* found = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    return found ? found : dlopen("libtorch_cpu.so", RTLD_LAZY);
  }();
  void* found = library ? dlsym(library, name) : dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "musasim: %s is computed by PyTorch's libtorch_cpu.so, %s\n", name,
                 library ? "which lacks it in this build" : "which this process does not find: import torch first");
  }
  return found;
}

// A number that is read when the work is done, if it lies on the device, and otherwise now.
template <class T>
class Scalar {
 public:
  Scalar(const T* place, bool on_device) : place_(on_device ? place : nullptr), value_(on_device ? T{} : *place) {}
  T operator()() const { return place_ ? *place_ : value_; }

 private:
  const T* place_;
  T value_;
};

}  // namespace musasim
