// Algorithms that put elements in a random order. Which order a seed gives is not CUDA's.
#pragma once

#include "thrust/detail/algorithms.h"
#include "thrust/random.h"

namespace thrust {

template <class Policy, class In, class Out, class Engine, detail::IfPolicy<Policy> = 0>
void shuffle_copy(const Policy& policy, In first, In last, Out result, Engine&& engine) {
  std::vector<std::ptrdiff_t> places(static_cast<std::size_t>(last - first));
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<std::ptrdiff_t>(i);
    std::swap(places[i], places[uniform_int_distribution<std::size_t>(0, i)(engine)]);
  }
  const auto in = detail::inside(first);
  auto out = detail::inside(result);
  detail::execute(policy, [=]() mutable {
    const auto values = detail::values_of(in, static_cast<std::ptrdiff_t>(places.size()));
    for (std::size_t i = 0; i < places.size(); ++i) out[i] = values[static_cast<std::size_t>(places[i])];
  });
}
template <class In, class Out, class Engine, detail::IfIterator<In> = 0>
void shuffle_copy(In first, In last, Out result, Engine&& engine) {
  shuffle_copy(detail::policy_of<In, Out>(), first, last, result, engine);
}
template <class Policy, class Iterator, class Engine, detail::IfPolicy<Policy> = 0>
void shuffle(const Policy& policy, Iterator first, Iterator last, Engine&& engine) {
  shuffle_copy(policy, first, last, first, engine);
}
template <class Iterator, class Engine, detail::IfIterator<Iterator> = 0>
void shuffle(Iterator first, Iterator last, Engine&& engine) {
  shuffle_copy(first, last, first, engine);
}

}  // namespace thrust
