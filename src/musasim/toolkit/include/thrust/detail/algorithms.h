// The algorithms. Each is written once, with a policy as its first argument. Without a policy, the iterators decide where it runs.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "thrust/distance.h"
#include "thrust/functional.h"
#include "thrust/iterator/iterators.h"

namespace thrust {

namespace detail {
template <class Iterator>
using value_of = typename std::iterator_traits<Iterator>::value_type;
template <class Iterator>
std::vector<value_of<Iterator>> values_of(Iterator first, std::ptrdiff_t n) {
  std::vector<value_of<Iterator>> values;
  values.reserve(static_cast<std::size_t>(n));
  for (std::ptrdiff_t i = 0; i < n; ++i) values.push_back(first[i]);
  return values;
}
template <class Values, class Iterator>
void put(const Values& values, Iterator to) {
  for (std::size_t i = 0; i < values.size(); ++i) to[static_cast<std::ptrdiff_t>(i)] = values[i];
}
}  // namespace detail

#define MUSASIM_WITHOUT_POLICY(name)                                                 \
  template <class First, class... Rest, detail::IfIterator<First> = 0>               \
  auto name(First first, Rest... rest) {                                             \
    return name(detail::policy_of<First, Rest...>(), first, rest...);                \
  }

// --- element by element ---------------------------------------------------------------------------------------------------------

template <class Policy, class In, class Function, detail::IfPolicy<Policy> = 0>
In for_each_n(const Policy& policy, In first, std::ptrdiff_t n, Function function) {
  const auto in = detail::inside(first);
  detail::execute(policy, [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) function(in[i]);
  });
  return first + n;
}
template <class Policy, class In, class Function, detail::IfPolicy<Policy> = 0>
In for_each(const Policy& policy, In first, In last, Function function) {
  return for_each_n(policy, first, last - first, function);
}
template <class Policy, class In, class Out, class Function, detail::IfPolicy<Policy> = 0>
Out transform(const Policy& policy, In first, In last, Out result, Function function) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  auto out = detail::inside(result);
  detail::execute(policy, [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = function(in[i]);
  });
  return result + n;
}
template <class Policy, class In, class In2, class Out, class Function, detail::IfPolicy<Policy> = 0>
Out transform(const Policy& policy, In first, In last, In2 second, Out result, Function function) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  const auto in2 = detail::inside(second);
  auto out = detail::inside(result);
  detail::execute(policy, [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = function(in[i], in2[i]);
  });
  return result + n;
}
template <class Policy, class Out, class Function, detail::IfPolicy<Policy> = 0>
void tabulate(const Policy& policy, Out first, Out last, Function function) {
  transform(policy, counting_iterator<std::ptrdiff_t>(0), counting_iterator<std::ptrdiff_t>(last - first), first, function);
}
template <class Policy, class Out, class T, detail::IfPolicy<Policy> = 0>
Out fill_n(const Policy& policy, Out first, std::ptrdiff_t n, const T& value) {
  auto out = detail::inside(first);
  detail::execute(policy, [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = value;
  });
  return first + n;
}
template <class Policy, class Out, class T, detail::IfPolicy<Policy> = 0>
void fill(const Policy& policy, Out first, Out last, const T& value) {
  fill_n(policy, first, last - first, value);
}
template <class Policy, class Out, class T, detail::IfPolicy<Policy> = 0>
void sequence(const Policy& policy, Out first, Out last, T begin, T step) {
  tabulate(policy, first, last, [=](std::ptrdiff_t i) { return static_cast<detail::value_of<Out>>(begin + static_cast<T>(i) * step); });
}
template <class Policy, class Out, class T, detail::IfPolicy<Policy> = 0>
void sequence(const Policy& policy, Out first, Out last, T begin) {
  sequence(policy, first, last, begin, T(1));
}
template <class Policy, class Out, detail::IfPolicy<Policy> = 0>
void sequence(const Policy& policy, Out first, Out last) {
  sequence(policy, first, last, detail::value_of<Out>(0));
}
template <class Policy, class Places, class In, class Out, detail::IfPolicy<Policy> = 0>
Out gather(const Policy& policy, Places first, Places last, In from, Out result) {
  const auto in = detail::inside(from);
  return transform(policy, first, last, result, [=](const auto& place) { return static_cast<detail::value_of<In>>(in[place]); });
}
template <class Policy, class In, class Places, class Out, detail::IfPolicy<Policy> = 0>
void scatter(const Policy& policy, In first, In last, Places places, Out result) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  const auto to = detail::inside(places);
  auto out = detail::inside(result);
  detail::execute(policy, [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) out[to[i]] = in[i];
  });
}
template <class Policy, class In, class Out, detail::IfPolicy<Policy> = 0>
Out copy_n(const Policy& policy, In first, std::ptrdiff_t n, Out result) {
  return transform(policy, first, first + n, result, identity<detail::value_of<In>>());
}
template <class Policy, class In, class Out, detail::IfPolicy<Policy> = 0>
Out copy(const Policy& policy, In first, In last, Out result) {
  return copy_n(policy, first, last - first, result);
}
template <class Policy, class In, class Out, detail::IfPolicy<Policy> = 0>
Out adjacent_difference(const Policy& policy, In first, In last, Out result) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  auto out = detail::inside(result);
  detail::execute(policy, [=]() mutable {
    const auto values = detail::values_of(in, n);
    for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = i == 0 ? values[0] : values[i] - values[i - 1];
  });
  return result + n;
}
MUSASIM_WITHOUT_POLICY(for_each_n)
MUSASIM_WITHOUT_POLICY(for_each)
MUSASIM_WITHOUT_POLICY(transform)
MUSASIM_WITHOUT_POLICY(tabulate)
MUSASIM_WITHOUT_POLICY(fill_n)
MUSASIM_WITHOUT_POLICY(fill)
MUSASIM_WITHOUT_POLICY(sequence)
MUSASIM_WITHOUT_POLICY(gather)
MUSASIM_WITHOUT_POLICY(scatter)
MUSASIM_WITHOUT_POLICY(adjacent_difference)

// Between host and device too, when no policy is given.
template <class In, class Out, detail::IfIterator<In> = 0>
Out copy_n(In first, std::ptrdiff_t n, Out result) {
  constexpr bool from_device = detail::Inside<In>::on_device, to_device = detail::Inside<Out>::on_device;
  using T = detail::value_of<In>;
  if constexpr (from_device == to_device) {
    return copy_n(detail::policy_of<In>(), first, n, result);
  } else if (n > 0) {
    const device_ptr<T> staged = device_malloc<T>(static_cast<std::size_t>(n));
    const std::unique_ptr<void, musaError_t (*)(void*)> freed(staged.get(), musaFree);
    const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
    if constexpr (from_device) {
      copy_n(device, first, n, staged);
      std::unique_ptr<unsigned char[]> values(new unsigned char[bytes]);
      detail::copy_bytes(values.get(), staged.get(), bytes, musaMemcpyDeviceToHost);
      for (std::ptrdiff_t i = 0; i < n; ++i) result[i] = reinterpret_cast<const T*>(values.get())[i];
    } else {
      std::unique_ptr<unsigned char[]> values(new unsigned char[bytes]);
      for (std::ptrdiff_t i = 0; i < n; ++i) ::new (static_cast<void*>(values.get() + i * sizeof(T))) T(first[i]);
      detail::copy_bytes(staged.get(), values.get(), bytes, musaMemcpyHostToDevice);
      copy_n(device, staged, n, result);
    }
  }
  return result + n;
}
template <class In, class Out, detail::IfIterator<In> = 0>
Out copy(In first, In last, Out result) {
  return copy_n(first, last - first, result);
}

// --- reductions -------------------------------------------------------------------------------------------------------------------

template <class Policy, class In, class Function, class T, class Operator, detail::IfPolicy<Policy> = 0>
T transform_reduce(const Policy& policy, In first, In last, Function function, T initial, Operator combine) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  return detail::evaluate(policy, [=]() mutable {
    T result = initial;
    for (std::ptrdiff_t i = 0; i < n; ++i) result = combine(result, function(in[i]));
    return result;
  });
}
template <class Policy, class In, class T, class Operator, detail::IfPolicy<Policy> = 0>
T reduce(const Policy& policy, In first, In last, T initial, Operator combine) {
  return transform_reduce(policy, first, last, identity<detail::value_of<In>>(), initial, combine);
}
template <class Policy, class In, class T, detail::IfPolicy<Policy> = 0>
T reduce(const Policy& policy, In first, In last, T initial) {
  return reduce(policy, first, last, initial, plus<>());
}
template <class Policy, class In, detail::IfPolicy<Policy> = 0>
detail::value_of<In> reduce(const Policy& policy, In first, In last) {
  return reduce(policy, first, last, detail::value_of<In>());
}
template <class Policy, class In, class In2, class T, detail::IfPolicy<Policy> = 0>
T inner_product(const Policy& policy, In first, In last, In2 second, T initial) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  const auto in2 = detail::inside(second);
  return detail::evaluate(policy, [=]() mutable {
    T result = initial;
    for (std::ptrdiff_t i = 0; i < n; ++i) result = result + in[i] * in2[i];
    return result;
  });
}
template <class Policy, class In, class Predicate, detail::IfPolicy<Policy> = 0>
std::ptrdiff_t count_if(const Policy& policy, In first, In last, Predicate is) {
  const auto one = [=](const auto& value) mutable { return is(value) ? std::ptrdiff_t(1) : std::ptrdiff_t(0); };
  return transform_reduce(policy, first, last, one, std::ptrdiff_t(0), plus<>());
}
template <class Policy, class In, class T, detail::IfPolicy<Policy> = 0>
std::ptrdiff_t count(const Policy& policy, In first, In last, const T& value) {
  return count_if(policy, first, last, [=](const auto& each) { return each == value; });
}
template <class Policy, class In, class Predicate, detail::IfPolicy<Policy> = 0>
bool any_of(const Policy& policy, In first, In last, Predicate is) {
  return count_if(policy, first, last, is) != 0;
}
template <class Policy, class In, class Predicate, detail::IfPolicy<Policy> = 0>
bool all_of(const Policy& policy, In first, In last, Predicate is) {
  return count_if(policy, first, last, is) == last - first;
}
template <class Policy, class In, class Predicate, detail::IfPolicy<Policy> = 0>
bool none_of(const Policy& policy, In first, In last, Predicate is) {
  return count_if(policy, first, last, is) == 0;
}
template <class Policy, class In, class Less, detail::IfPolicy<Policy> = 0>
In min_element(const Policy& policy, In first, In last, Less is_less) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  return first + detail::evaluate(policy, [=]() mutable {
           std::ptrdiff_t best = 0;
           for (std::ptrdiff_t i = 1; i < n; ++i) best = is_less(in[i], in[best]) ? i : best;
           return best;
         });
}
template <class Policy, class In, detail::IfPolicy<Policy> = 0>
In min_element(const Policy& policy, In first, In last) {
  return min_element(policy, first, last, less<>());
}
template <class Policy, class In, class Less, detail::IfPolicy<Policy> = 0>
In max_element(const Policy& policy, In first, In last, Less is_less) {
  return min_element(policy, first, last, [=](const auto& a, const auto& b) mutable { return is_less(b, a); });
}
template <class Policy, class In, detail::IfPolicy<Policy> = 0>
In max_element(const Policy& policy, In first, In last) {
  return max_element(policy, first, last, less<>());
}
template <class Policy, class In, class Less, detail::IfPolicy<Policy> = 0>
pair<In, In> minmax_element(const Policy& policy, In first, In last, Less is_less) {
  return {min_element(policy, first, last, is_less), max_element(policy, first, last, is_less)};
}
template <class Policy, class In, detail::IfPolicy<Policy> = 0>
pair<In, In> minmax_element(const Policy& policy, In first, In last) {
  return minmax_element(policy, first, last, less<>());
}
template <class Policy, class In, class Predicate, detail::IfPolicy<Policy> = 0>
In find_if(const Policy& policy, In first, In last, Predicate is) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  return first + detail::evaluate(policy, [=]() mutable {
           std::ptrdiff_t i = 0;
           while (i < n && !is(in[i])) ++i;
           return i;
         });
}
template <class Policy, class In, class T, detail::IfPolicy<Policy> = 0>
In find(const Policy& policy, In first, In last, const T& value) {
  return find_if(policy, first, last, [=](const auto& each) { return each == value; });
}
template <class Policy, class In, class In2, detail::IfPolicy<Policy> = 0>
bool equal(const Policy& policy, In first, In last, In2 second) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  const auto in2 = detail::inside(second);
  return detail::evaluate(policy, [=]() mutable {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      if (!(in[i] == in2[i])) return false;
    }
    return true;
  });
}
MUSASIM_WITHOUT_POLICY(transform_reduce)
MUSASIM_WITHOUT_POLICY(reduce)
MUSASIM_WITHOUT_POLICY(inner_product)
MUSASIM_WITHOUT_POLICY(count_if)
MUSASIM_WITHOUT_POLICY(count)
MUSASIM_WITHOUT_POLICY(any_of)
MUSASIM_WITHOUT_POLICY(all_of)
MUSASIM_WITHOUT_POLICY(none_of)
MUSASIM_WITHOUT_POLICY(min_element)
MUSASIM_WITHOUT_POLICY(max_element)
MUSASIM_WITHOUT_POLICY(minmax_element)
MUSASIM_WITHOUT_POLICY(find_if)
MUSASIM_WITHOUT_POLICY(find)
MUSASIM_WITHOUT_POLICY(equal)

// --- scans ------------------------------------------------------------------------------------------------------------------------

template <class Policy, class In, class Out, class Operator, detail::IfPolicy<Policy> = 0>
Out inclusive_scan(const Policy& policy, In first, In last, Out result, Operator combine) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  auto out = detail::inside(result);
  detail::execute(policy, [=]() mutable {
    if (n == 0) return;
    detail::value_of<In> sum = in[0];
    out[0] = sum;
    for (std::ptrdiff_t i = 1; i < n; ++i) out[i] = sum = combine(sum, in[i]);
  });
  return result + n;
}
template <class Policy, class In, class Out, detail::IfPolicy<Policy> = 0>
Out inclusive_scan(const Policy& policy, In first, In last, Out result) {
  return inclusive_scan(policy, first, last, result, plus<>());
}
template <class Policy, class In, class Out, class T, class Operator, detail::IfPolicy<Policy> = 0>
Out exclusive_scan(const Policy& policy, In first, In last, Out result, T initial, Operator combine) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  auto out = detail::inside(result);
  detail::execute(policy, [=]() mutable {
    T before = initial;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const detail::value_of<In> item = in[i];
      out[i] = before;
      before = combine(before, item);
    }
  });
  return result + n;
}
template <class Policy, class In, class Out, class T, detail::IfPolicy<Policy> = 0>
Out exclusive_scan(const Policy& policy, In first, In last, Out result, T initial) {
  return exclusive_scan(policy, first, last, result, initial, plus<>());
}
template <class Policy, class In, class Out, detail::IfPolicy<Policy> = 0>
Out exclusive_scan(const Policy& policy, In first, In last, Out result) {
  return exclusive_scan(policy, first, last, result, detail::value_of<In>(0));
}
MUSASIM_WITHOUT_POLICY(inclusive_scan)
MUSASIM_WITHOUT_POLICY(exclusive_scan)

// --- orders -----------------------------------------------------------------------------------------------------------------------

template <class Policy, class Iterator, class Less, detail::IfPolicy<Policy> = 0>
void stable_sort(const Policy& policy, Iterator first, Iterator last, Less is_less) {
  const std::ptrdiff_t n = last - first;
  const auto items = detail::inside(first);
  detail::execute(policy, [=]() mutable {
    auto values = detail::values_of(items, n);
    std::stable_sort(values.begin(), values.end(), is_less);
    detail::put(values, items);
  });
}
template <class Policy, class Iterator, detail::IfPolicy<Policy> = 0>
void stable_sort(const Policy& policy, Iterator first, Iterator last) {
  stable_sort(policy, first, last, less<>());
}
template <class Policy, class Iterator, class... Less, detail::IfPolicy<Policy> = 0>
void sort(const Policy& policy, Iterator first, Iterator last, Less... is_less) {
  stable_sort(policy, first, last, is_less...);
}
template <class Policy, class Keys, class Values, class Less, detail::IfPolicy<Policy> = 0>
void stable_sort_by_key(const Policy& policy, Keys first, Keys last, Values values, Less is_less) {
  const std::ptrdiff_t n = last - first;
  const auto keys = detail::inside(first);
  const auto items = detail::inside(values);
  detail::execute(policy, [=]() mutable {
    const auto old_keys = detail::values_of(keys, n);
    const auto old_items = detail::values_of(items, n);
    std::vector<std::ptrdiff_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::ptrdiff_t a, std::ptrdiff_t b) { return is_less(old_keys[a], old_keys[b]); });
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      keys[i] = old_keys[order[i]];
      items[i] = old_items[order[i]];
    }
  });
}
template <class Policy, class Keys, class Values, detail::IfPolicy<Policy> = 0>
void stable_sort_by_key(const Policy& policy, Keys first, Keys last, Values values) {
  stable_sort_by_key(policy, first, last, values, less<>());
}
template <class Policy, class Keys, class Values, class... Less, detail::IfPolicy<Policy> = 0>
void sort_by_key(const Policy& policy, Keys first, Keys last, Values values, Less... is_less) {
  stable_sort_by_key(policy, first, last, values, is_less...);
}
template <class Policy, class In, class Less, detail::IfPolicy<Policy> = 0>
bool is_sorted(const Policy& policy, In first, In last, Less is_less) {
  const std::ptrdiff_t n = last - first;
  const auto in = detail::inside(first);
  return detail::evaluate(policy, [=]() mutable {
    for (std::ptrdiff_t i = 1; i < n; ++i) {
      if (is_less(in[i], in[i - 1])) return false;
    }
    return true;
  });
}
template <class Policy, class In, detail::IfPolicy<Policy> = 0>
bool is_sorted(const Policy& policy, In first, In last) {
  return is_sorted(policy, first, last, less<>());
}
// For each value, its place among the sorted ones.
#define MUSASIM_BOUND(name, goes_before)                                                                               \
  template <class Policy, class Sorted, class In, class Out, detail::IfPolicy<Policy> = 0>                             \
  Out name(const Policy& policy, Sorted first, Sorted last, In values, In values_end, Out result) {                    \
    const std::ptrdiff_t n = last - first;                                                                             \
    const auto sorted = detail::inside(first);                                                                         \
    return transform(policy, values, values_end, result, [=](const auto& value) {                                      \
      std::ptrdiff_t low = 0, high = n;                                                                                \
      while (low < high) {                                                                                             \
        const std::ptrdiff_t middle = (low + high) / 2;                                                                \
        if (goes_before) {                                                                                             \
          low = middle + 1;                                                                                            \
        } else {                                                                                                       \
          high = middle;                                                                                               \
        }                                                                                                              \
      }                                                                                                                \
      return low;                                                                                                      \
    });                                                                                                                \
  }
MUSASIM_BOUND(lower_bound, sorted[middle] < value)
MUSASIM_BOUND(upper_bound, !(value < sorted[middle]))
#undef MUSASIM_BOUND
MUSASIM_WITHOUT_POLICY(stable_sort)
MUSASIM_WITHOUT_POLICY(sort)
MUSASIM_WITHOUT_POLICY(stable_sort_by_key)
MUSASIM_WITHOUT_POLICY(sort_by_key)
MUSASIM_WITHOUT_POLICY(is_sorted)
MUSASIM_WITHOUT_POLICY(lower_bound)
MUSASIM_WITHOUT_POLICY(upper_bound)

// --- choosing ---------------------------------------------------------------------------------------------------------------------

namespace detail {
// Copies the values for which keep(values, i) holds to `result`, and returns its end.
template <class Policy, class In, class Out, class Keep>
Out choose(const Policy& policy, In first, std::ptrdiff_t n, Out result, Keep keep) {
  const auto in = inside(first);
  auto out = inside(result);
  return result + evaluate(policy, [=]() mutable {
           const auto values = values_of(in, n);
           std::ptrdiff_t kept = 0;
           for (std::ptrdiff_t i = 0; i < n; ++i) {
             if (keep(values, i)) out[kept++] = values[i];
           }
           return kept;
         });
}
}  // namespace detail

template <class Policy, class In, class Out, class Predicate, detail::IfPolicy<Policy> = 0>
Out copy_if(const Policy& policy, In first, In last, Out result, Predicate is) {
  return detail::choose(policy, first, last - first, result, [=](const auto& values, std::ptrdiff_t i) mutable { return is(values[i]); });
}
template <class Policy, class In, class Stencil, class Out, class Predicate, detail::IfPolicy<Policy> = 0>
Out copy_if(const Policy& policy, In first, In last, Stencil stencil, Out result, Predicate is) {
  const auto flags = detail::inside(stencil);
  return detail::choose(policy, first, last - first, result, [=](const auto&, std::ptrdiff_t i) mutable { return is(flags[i]); });
}
template <class Policy, class Iterator, class Predicate, detail::IfPolicy<Policy> = 0>
Iterator remove_if(const Policy& policy, Iterator first, Iterator last, Predicate is) {
  return copy_if(policy, first, last, first, [=](const auto& value) mutable { return !is(value); });
}
template <class Policy, class Iterator, class T, detail::IfPolicy<Policy> = 0>
Iterator remove(const Policy& policy, Iterator first, Iterator last, const T& value) {
  return remove_if(policy, first, last, [=](const auto& each) { return each == value; });
}
template <class Policy, class In, class Out, detail::IfPolicy<Policy> = 0>
Out unique_copy(const Policy& policy, In first, In last, Out result) {
  return detail::choose(policy, first, last - first, result,
                        [](const auto& values, std::ptrdiff_t i) { return i == 0 || !(values[i] == values[i - 1]); });
}
template <class Policy, class Iterator, detail::IfPolicy<Policy> = 0>
Iterator unique(const Policy& policy, Iterator first, Iterator last) {
  return unique_copy(policy, first, last, first);
}
template <class Policy, class Keys, class Values, detail::IfPolicy<Policy> = 0>
pair<Keys, Values> unique_by_key(const Policy& policy, Keys first, Keys last, Values values) {
  const std::ptrdiff_t n = last - first;
  const auto keys = detail::inside(first);
  const auto items = detail::inside(values);
  const std::ptrdiff_t kept = detail::evaluate(policy, [=]() mutable {
    std::ptrdiff_t place = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      if (i > 0 && keys[i] == keys[place - 1]) continue;
      keys[place] = keys[i];
      items[place++] = items[i];
    }
    return place;
  });
  return {first + kept, values + kept};
}
template <class Policy, class Keys, class Values, class KeysOut, class ValuesOut, class Equal, class Operator,
          detail::IfPolicy<Policy> = 0>
pair<KeysOut, ValuesOut> reduce_by_key(const Policy& policy, Keys first, Keys last, Values values, KeysOut keys_out, ValuesOut values_out,
                                       Equal is_equal, Operator combine) {
  const std::ptrdiff_t n = last - first;
  const auto keys = detail::inside(first);
  const auto items = detail::inside(values);
  auto to_keys = detail::inside(keys_out);
  auto to_values = detail::inside(values_out);
  const std::ptrdiff_t runs = detail::evaluate(policy, [=]() mutable {
    std::ptrdiff_t run = 0;
    for (std::ptrdiff_t i = 0; i < n; ++run) {
      const detail::value_of<Keys> key = keys[i];
      detail::value_of<Values> result = items[i];
      for (++i; i < n && is_equal(key, keys[i]); ++i) result = combine(result, items[i]);
      to_keys[run] = key;
      to_values[run] = result;
    }
    return run;
  });
  return {keys_out + runs, values_out + runs};
}
template <class Policy, class Keys, class Values, class KeysOut, class ValuesOut, detail::IfPolicy<Policy> = 0>
pair<KeysOut, ValuesOut> reduce_by_key(const Policy& policy, Keys first, Keys last, Values values, KeysOut keys_out, ValuesOut values_out) {
  return reduce_by_key(policy, first, last, values, keys_out, values_out, equal_to<>(), plus<>());
}
MUSASIM_WITHOUT_POLICY(copy_if)
MUSASIM_WITHOUT_POLICY(remove_if)
MUSASIM_WITHOUT_POLICY(remove)
MUSASIM_WITHOUT_POLICY(unique_copy)
MUSASIM_WITHOUT_POLICY(unique)
MUSASIM_WITHOUT_POLICY(unique_by_key)
MUSASIM_WITHOUT_POLICY(reduce_by_key)

}  // namespace thrust
