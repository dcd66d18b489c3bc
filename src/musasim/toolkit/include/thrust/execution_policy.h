// Where an algorithm runs: thrust::host, thrust::device, thrust::seq, thrust::musa::par and par.on(stream).
#pragma once

#include <memory>

#include "thrust/detail/device_memory.h"

namespace thrust {

namespace detail {

struct policy_base {};
struct host_policy : policy_base {
  static constexpr bool on_device = false;
};
struct device_policy : policy_base {
  static constexpr bool on_device = true;
  musaStream_t stream = nullptr;
  bool waits = true;

  device_policy on(musaStream_t the_stream) const {
    device_policy result = *this;
    result.stream = the_stream;
    return result;
  }
  // An allocator for temporary storage, which the simulated device does not need.
  template <class Allocator>
  device_policy operator()(Allocator&&) const {
    return *this;
  }
};

template <class Algorithm>
__global__ void thrust_algorithm(Algorithm algorithm) {
  algorithm();
}

// Runs the algorithm as one thread where its policy says. In a kernel, that is the calling thread.
template <class Algorithm>
void execute(const host_policy&, Algorithm algorithm) {
  algorithm();
}
template <class Algorithm>
void execute(const device_policy& policy, Algorithm algorithm) {
  if (musasim_on_device()) {
    algorithm();
    return;
  }
  thrust_algorithm<Algorithm><<<1, 1, 0, policy.stream>>>(algorithm);
  require(musaPeekAtLastError(), "thrust");
  if (policy.waits) require(musaStreamSynchronize(policy.stream), "thrust");
}

// The same for an algorithm with a result.
template <class Algorithm>
auto evaluate(const host_policy&, Algorithm algorithm) -> decltype(algorithm()) {
  return algorithm();
}
template <class Algorithm>
auto evaluate(const device_policy& policy, Algorithm algorithm) -> decltype(algorithm()) {
  using Result = decltype(algorithm());
  if (musasim_on_device()) return algorithm();
  const device_ptr<Result> place = device_malloc<Result>(1);
  const std::unique_ptr<void, musaError_t (*)(void*)> freed(place.get(), musaFree);
  Result* const address = place.get();
  device_policy waiting = policy;
  waiting.waits = true;
  execute(waiting, [=]() mutable { ::new (static_cast<void*>(address)) Result(algorithm()); });
  alignas(Result) unsigned char bytes[sizeof(Result)];
  copy_bytes(bytes, address, sizeof(Result), musaMemcpyDeviceToHost);
  return *reinterpret_cast<Result*>(bytes);
}

template <class T>
constexpr bool is_policy = std::is_base_of<policy_base, std::decay_t<T>>::value;
template <class T>
using IfPolicy = std::enable_if_t<is_policy<T>, int>;
template <class T>
using IfIterator = std::enable_if_t<!is_policy<T>, int>;

// How the algorithm accesses an iterator's elements. Iterators made of others do this for their parts.
template <class Iterator>
struct Inside {
  static constexpr bool on_device = false;
  using type = Iterator;
  static type of(const Iterator& iterator) { return iterator; }
};
template <class T>
struct Inside<device_ptr<T>> {
  static constexpr bool on_device = true;
  using type = T*;
  static type of(const device_ptr<T>& pointer) { return pointer.get(); }
};
template <class Iterator>
typename Inside<std::decay_t<Iterator>>::type inside(const Iterator& iterator) {
  return Inside<std::decay_t<Iterator>>::of(iterator);
}

// Without a policy, it runs on the device if one of the iterators points there.
template <class... Iterators>
using policy_of = std::conditional_t<(Inside<std::decay_t<Iterators>>::on_device || ...), device_policy, host_policy>;

inline device_policy without_waiting() {
  device_policy result;
  result.waits = false;
  return result;
}

}  // namespace detail

static const detail::host_policy host{};
static const detail::host_policy seq{};
static const detail::device_policy device{};

namespace musa {
static const detail::device_policy par{};
static const detail::device_policy par_nosync = detail::without_waiting();
}  // namespace musa
namespace system {
namespace musa = ::thrust::musa;
}

}  // namespace thrust
