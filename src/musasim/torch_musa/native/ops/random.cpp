// Random numbers as CUDA's kernels draw them, from which torch_musa's are ported: the same seed gives the same numbers.
#include "random.h"

#include "../runtime/device.h"
#include "../runtime/release.h"
#include "philox.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace musasim {
namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

constexpr int64_t kBlock = 256;
constexpr uint64_t kWordsPerCall = 4;

// ---- the grid ---------------------------------------------------------------------------------------------------------------

// As torch_musa 2.9.1 and newer read them. Before, a kernel asks the device alone.
int64_t figure(const char* variable, int64_t of_the_device) {
  const char* text = since(Release::v2_9_1) ? std::getenv(variable) : nullptr;
  const int64_t number = text != nullptr ? std::atoll(text) : 0;
  return number > 0 ? number : of_the_device;
}

// How many threads draw for a tensor: the more elements follow in one thread, the smaller the device.
int64_t threads_for(int64_t elements) {
  static const int64_t processors = figure("TORCH_ARCH_MP_COUNT", device_properties().multi_processor_count);
  static const int64_t threads = figure("TORCH_ARCH_MAXTHREADS_PER_MP", 2048);
  return std::min(processors * (threads / kBlock), (elements + kBlock - 1) / kBlock) * kBlock;
}

int64_t rounds_for(int64_t elements, int64_t threads, int64_t numbers) {
  return (elements - 1) / (threads * numbers) + 1;
}

// Calls `store(element, number)` for each element. A thread makes some numbers at a time, for elements that lie as far apart as
// there are threads.
template <typename Make, typename Store>
void for_each_element(int64_t elements, MusaGenerator& generator, Make make, Store store) {
  if (elements == 0) {
    return;
  }
  constexpr int64_t numbers = std::tuple_size<decltype(make(Words()))>::value;
  const int64_t threads = threads_for(elements);
  const int64_t rounds = rounds_for(elements, threads, numbers);
  const auto [seed, offset] = generator.take(static_cast<uint64_t>(rounds) * kWordsPerCall);
  at::parallel_for(0, std::min(threads, elements), 2048, [&, seed = seed, offset = offset](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      for (int64_t round = 0; round < rounds; ++round) {
        const auto position = offset / kWordsPerCall + static_cast<uint64_t>(round);
        const auto made = make(philox(seed, static_cast<uint64_t>(thread), position));
        for (int64_t i = 0; i < numbers; ++i) {
          const int64_t element = thread + threads * (round * numbers + i);
          if (element < elements) {
            store(element, made[static_cast<size_t>(i)]);
          }
        }
      }
    }
  });
}

// ---- filling a tensor ---------------------------------------------------------------------------------------------------------

// Dimensions from the outermost to the innermost, as the tensor lies in memory.
std::vector<int64_t> as_in_memory(const Tensor& tensor) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.end(), [&](int64_t a, int64_t b) { return tensor.stride(a) > tensor.stride(b); });
  return order;
}

// Elements are numbered in the order of memory. `fill` gets a tensor whose elements lie one after the other.
template <typename Fill>
void fill_in_memory_order(const Tensor& tensor, Fill fill) {
  if (tensor.is_non_overlapping_and_dense()) {
    fill(tensor);
    return;
  }
  const auto turned = tensor.permute(as_in_memory(tensor));
  const auto dense = at::empty(turned.sizes(), turned.options());
  fill(dense);
  turned.copy_(dense);
}

template <typename T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
auto make_uniform(const Words& words) {
  if constexpr (std::is_same_v<T, double>) {
    return uniform2(words);
  } else {
    return uniform4(words);
  }
}

template <typename T>
auto make_normal(const Words& words) {
  if constexpr (std::is_same_v<T, double>) {
    return normal_of(words);
  } else {
    return normal4(words);
  }
}

// `transform(number, T())` makes an element of type T of a uniform or a normal number.
template <bool normal, typename Transform>
void fill_with(const Tensor& tensor, MusaGenerator& generator, Transform transform) {
  fill_in_memory_order(tensor, [&](const Tensor& dense) {
    AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, dense.scalar_type(), "random", [&] {
      auto* data = dense.mutable_data_ptr<scalar_t>();
      const auto store = [&](int64_t i, auto number) { data[i] = static_cast<scalar_t>(transform(number, scalar_t())); };
      if constexpr (normal) {
        for_each_element(dense.numel(), generator, make_normal<scalar_t>, store);
      } else {
        for_each_element(dense.numel(), generator, make_uniform<scalar_t>, store);
      }
    });
  });
}

// ---- distributions of one tensor ------------------------------------------------------------------------------------------------

void uniform(const Tensor& tensor, double from, double to, MusaGenerator& generator) {
  if (tensor.is_complex()) {
    uniform(at::view_as_real(tensor), from, to, generator);
    return;
  }
  fill_with<false>(tensor, generator, [=](auto number, auto type) {
    using T = decltype(type);
    const auto low = static_cast<T>(from), high = static_cast<T>(to);
    const auto range = static_cast<Compute<T>>(high - low);
    const auto value = static_cast<T>(number * range + static_cast<Compute<T>>(low));
    return value == high ? low : value; // the number may be one, and not zero
  });
}

void normal(const Tensor& tensor, double mean, double deviation, MusaGenerator& generator) {
  if (tensor.is_complex()) {
    normal(at::view_as_real(tensor), mean, deviation / std::sqrt(2.0), generator);
    return;
  }
  fill_with<true>(tensor, generator, [=](auto number, auto) {
    using C = decltype(number);
    return number * static_cast<C>(deviation) + static_cast<C>(mean);
  });
}

void log_normal(const Tensor& tensor, double mean, double deviation, MusaGenerator& generator) {
  fill_with<true>(tensor, generator, [=](auto number, auto) {
    using C = decltype(number);
    return std::exp(number * static_cast<C>(deviation) + static_cast<C>(mean));
  });
}

void exponential(const Tensor& tensor, double rate, MusaGenerator& generator) {
  fill_with<false>(tensor, generator, [=](auto number, auto) {
    using C = decltype(number);
    constexpr C half_step = std::numeric_limits<C>::epsilon() / 2; // keeps zero out
    const C log = number >= 1 - half_step ? -half_step : std::log(number);
    return C(-1) / static_cast<C>(rate) * log;
  });
}

void geometric(const Tensor& tensor, double p, MusaGenerator& generator) {
  fill_with<false>(tensor, generator, [=](auto number, auto) {
    using C = decltype(number);
    return std::ceil(std::log(number) / std::log1p(-static_cast<C>(p)));
  });
}

void cauchy(const Tensor& tensor, double median, double sigma, MusaGenerator& generator) {
  fill_with<false>(tensor, generator, [=](auto number, auto) {
    using C = decltype(number);
    constexpr C step = std::numeric_limits<C>::epsilon();
    const C inside = std::min(std::max(number, step), 1 - step);
    return static_cast<C>(median) + static_cast<C>(sigma) * std::tan(static_cast<C>(M_PI) * (inside - C(0.5)));
  });
}

void bernoulli(const Tensor& tensor, double p, MusaGenerator& generator) {
  fill_with<false>(tensor, generator, [=](auto number, auto) { return number < static_cast<decltype(number)>(p); });
}

// A thread has four elements that lie one after the other.
void bernoulli_of(const Tensor& tensor, const Tensor& probabilities, MusaGenerator& generator) {
  const auto type = tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto p = probabilities.to(type).expand_as(tensor).contiguous();
  const auto drawn = at::empty(tensor.sizes(), at::kBool);
  const auto [seed, offset] = generator.take(10);
  auto* data = drawn.mutable_data_ptr<bool>();
  const auto compare = [&, seed = seed, offset = offset](const auto* of) {
    for (int64_t i = 0; i < drawn.numel(); ++i) {
      const auto words = philox(seed, static_cast<uint64_t>(i / 4), offset / kWordsPerCall);
      data[i] = uniform_of(words[static_cast<size_t>(i % 4)]) <= of[i];
    }
  };
  type == at::kDouble ? compare(p.const_data_ptr<double>()) : compare(p.const_data_ptr<float>());
  tensor.copy_(drawn);
}

// ---- whole numbers --------------------------------------------------------------------------------------------------------------

template <typename Convert>
void fill_with_words(const Tensor& tensor, bool wide, MusaGenerator& generator, Convert convert) {
  fill_in_memory_order(tensor, [&](const Tensor& dense) {
    AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, dense.scalar_type(), "random", [&] {
      auto* data = dense.mutable_data_ptr<scalar_t>();
      const auto store = [&](int64_t i, uint64_t word) { data[i] = static_cast<scalar_t>(convert(word, scalar_t())); };
      if (wide) {
        for_each_element(dense.numel(), generator, wide2, store);
      } else {
        for_each_element(dense.numel(), generator, [](const Words& words) { return words; }, store);
      }
    });
  });
}

void whole(const Tensor& tensor, uint64_t range, int64_t base, MusaGenerator& generator) {
  const bool wide = range >= uint64_t{1} << 28; // where a remainder of 32 bits would be too uneven
  fill_with_words(tensor, wide, generator, [=](uint64_t word, auto) {
    return static_cast<int64_t>(word % range) + base;
  });
}

void any_whole(const Tensor& tensor, MusaGenerator& generator) {
  const auto type = tensor.scalar_type();
  fill_with_words(tensor, type == at::kDouble || type == at::kLong, generator, [](uint64_t word, auto of) {
    using T = decltype(of);
    if constexpr (std::is_same_v<T, bool>) {
      return static_cast<int64_t>(word & 1);
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<int64_t>(word % (static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1));
    } else {
      return static_cast<int64_t>(word % ((uint64_t{1} << std::numeric_limits<T>::digits) + 1));
    }
  });
}

int64_t largest(const Tensor& tensor) {
  int64_t found = 0;
  AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, tensor.scalar_type(), "random", [&] {
    if constexpr (std::is_same_v<scalar_t, bool>) {
      found = 1;
    } else if constexpr (std::is_integral_v<scalar_t>) {
      found = static_cast<int64_t>(std::numeric_limits<scalar_t>::max());
    } else {
      found = int64_t{1} << std::numeric_limits<scalar_t>::digits;
    }
  });
  return found;
}

void whole_from(const Tensor& tensor, int64_t from, const IValue& to, MusaGenerator& generator) {
  if (!to.isNone()) {
    whole(tensor, static_cast<uint64_t>(to.toInt()) - static_cast<uint64_t>(from), from, generator);
  } else if (from > std::numeric_limits<int64_t>::lowest()) {
    whole(tensor, static_cast<uint64_t>(largest(tensor)) - static_cast<uint64_t>(from) + 1, from, generator);
  } else {
    fill_with_words(tensor, true, generator, [](uint64_t word, auto) { return static_cast<int64_t>(word); });
  }
}

// ---- operators that fill their first argument -----------------------------------------------------------------------------------

const at::Generator& throwaway() {
  static const auto* generator = new at::Generator(at::detail::createCPUGenerator());
  return *generator;
}

// Let the CPU's kernel check the arguments, on one element, which takes no memory of the device.
void check_arguments(const c10::OperatorHandle& op, const Stack& stack) {
  const size_t count = op.schema().arguments().size();
  alignas(16) char element[16];
  Stack arguments(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
  arguments[0] = at::from_blob(element, {1}, arguments[0].toTensor().options());
  arguments[count - 1] = throwaway();
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &arguments);
}

// `fill` gets the tensor and the arguments that follow it.
template <typename Fill>
void in_place(const c10::OperatorHandle& op, Stack& stack, Fill fill) {
  check_arguments(op, stack);
  const auto* arguments = stack.data() + (stack.size() - op.schema().arguments().size());
  const auto tensor = arguments[0].toTensor();
  if (tensor.numel() != 0) {
    fill(tensor, arguments + 1);
  }
  torch::jit::drop(stack, op.schema().arguments().size());
  stack.emplace_back(tensor);
}

template <void (*fill)(const Tensor&, double, MusaGenerator&)>
void of_one_number(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  in_place(op, stack, [&](const Tensor& tensor, const IValue* rest) { fill(tensor, rest[0].toDouble(), generator); });
}

template <void (*fill)(const Tensor&, double, double, MusaGenerator&)>
void of_two_numbers(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  in_place(op, stack, [&](const Tensor& tensor, const IValue* rest) {
    fill(tensor, rest[0].toDouble(), rest[1].toDouble(), generator);
  });
}

void random(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  in_place(op, stack, [&](const Tensor& tensor, const IValue*) { any_whole(tensor, generator); });
}

void random_from(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  in_place(op, stack, [&](const Tensor& tensor, const IValue* rest) {
    whole_from(tensor, rest[0].toInt(), rest[1], generator);
  });
}

void random_to(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  in_place(op, stack, [&](const Tensor& tensor, const IValue* rest) { whole_from(tensor, 0, rest[0], generator); });
}

// ---- operators whose results the CPU's kernel makes, and which are then written over ------------------------------------------

// The arguments, which stay in `stack` no longer; the results are there. The generator is the argument at `place`.
Stack make_by_cpu(const c10::OperatorHandle& op, Stack& stack, size_t place) {
  const size_t count = op.schema().arguments().size();
  Stack arguments(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
  stack[stack.size() - count + place] = throwaway();
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  return arguments;
}

void bernoulli_by_tensor(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  const auto probabilities = torch::jit::peek(stack, 1, 3).toTensor().clone(); // which may be written over
  make_by_cpu(op, stack, 2);
  bernoulli_of(stack.back().toTensor(), probabilities, generator);
}

void bernoulli_out(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  const auto probabilities = torch::jit::peek(stack, 0, 3).toTensor().clone();
  make_by_cpu(op, stack, 1);
  bernoulli_of(stack.back().toTensor(), probabilities, generator);
}

// Of tensors of means, of deviations, or of both.
void normal_by_tensors(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  const auto arguments = make_by_cpu(op, stack, 2);
  const auto result = stack.back().toTensor();
  normal(result, 0, 1, generator);
  const auto& mean = arguments[0];
  const auto& deviation = arguments[1];
  deviation.isTensor() ? result.mul_(deviation.toTensor()) : result.mul_(deviation.toDouble());
  mean.isTensor() ? result.add_(mean.toTensor()) : result.add_(mean.toDouble());
}

// ---- permutations ---------------------------------------------------------------------------------------------------------------

// Of as many bits that two of n keys are rarely the same.
int bits_of_keys(int64_t n) {
  const auto count = static_cast<double>(n);
  const double wanted = std::log2(count - (6 * count * count + 1) / (std::log(0.9) * 12));
  return std::min(64, static_cast<int>(std::ceil(wanted)));
}

// What has the same key is in the order of the numbers, so it is shuffled.
void shuffle_equals(const std::vector<uint64_t>& keys, std::vector<int64_t>& order, MusaGenerator& generator) {
  const auto [seed, offset] = generator.take(order.size());
  for (size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    for (end = begin + 1; end < keys.size() && keys[end] == keys[begin]; ++end) {
    }
    for (size_t i = end - begin - 1, word = 0; i > 0; --i, ++word) {
      const auto words = philox(seed, begin, (offset + word) / kWordsPerCall);
      std::swap(order[begin + i], order[begin + words[word % kWordsPerCall] % (i + 1)]);
    }
  }
}

std::vector<int64_t> permutation(int64_t n, MusaGenerator& generator) {
  const int bits = bits_of_keys(n);
  const bool is_short = bits <= 32;
  const auto keys = at::empty({n}, is_short ? at::kInt : at::kLong);
  const auto lowest = is_short ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
  const auto range = is_short ? uint64_t{0xFFFFFFFF} : ~uint64_t{0};
  whole(keys, range, lowest, generator);
  const auto drawn = keys.to(at::kLong);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t sign = uint64_t{1} << (is_short ? 31 : 63); // negative keys come first
  const auto key = [&](int64_t i) { return (static_cast<uint64_t>(drawn.const_data_ptr<int64_t>()[i]) ^ sign) & mask; };
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
  std::vector<uint64_t> sorted(order.size());
  std::transform(order.begin(), order.end(), sorted.begin(), key);
  shuffle_equals(sorted, order, generator);
  return order;
}

void randperm(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  const auto arguments = make_by_cpu(op, stack, 1);
  if (const auto n = arguments[0].toInt()) {
    const auto order = permutation(n, generator);
    stack.back().toTensor().copy_(at::tensor(order, at::kLong));
  }
}

// ---- samples --------------------------------------------------------------------------------------------------------------------

// Where the sum of the probabilities passes `number`.
int64_t place_of(double number, const double* sums, const double* weights, int64_t categories) {
  auto place = std::lower_bound(sums, sums + categories, number) - sums;
  place = std::min<int64_t>(place, categories - 1);
  while (place >= 1 && weights[place] == 0) {
    --place;
  }
  return place;
}

Tensor with_replacement(const Tensor& weights, int64_t samples, MusaGenerator& generator) {
  const auto rows = (weights.dim() == 1 ? weights.unsqueeze(0) : weights).to(at::kFloat);
  const auto normed = rows / rows.sum(-1, true);
  const auto sums = normed.cumsum(-1).to(at::kDouble).contiguous();
  const auto each = normed.to(at::kDouble).contiguous();
  const auto result = at::empty({rows.size(0), samples}, at::kLong);
  const int64_t threads = (samples - 1) / 128 * 128 + 128;
  const auto [seed, offset] = generator.take(kWordsPerCall);
  for (int64_t row = 0; row < rows.size(0); ++row) {
    const auto at = row * rows.size(1);
    for (int64_t sample = 0; sample < samples; ++sample) {
      const auto words = philox(seed, static_cast<uint64_t>(row * threads + sample), offset / kWordsPerCall);
      result.mutable_data_ptr<int64_t>()[row * samples + sample] = place_of(
          uniform_of(words[0]), sums.const_data_ptr<double>() + at, each.const_data_ptr<double>() + at, rows.size(1));
    }
  }
  return result;
}

// The largest of p / q, where q is exponential: the more probable, the sooner.
Tensor without_replacement(const Tensor& weights, int64_t samples, MusaGenerator& generator) {
  const auto q = at::empty_like(weights);
  exponential(q, 1, generator);
  const auto race = weights / q;
  return samples == 1 ? race.argmax(-1, true) : std::get<1>(race.topk(samples));
}

void multinomial(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  const auto arguments = make_by_cpu(op, stack, 3);
  const auto result = stack.back().toTensor();
  const auto samples = arguments[1].toInt();
  if (result.numel() != 0) {
    const bool replaces = arguments[2].toBool() && samples != 1;
    const auto drawn = (replaces ? with_replacement : without_replacement)(arguments[0].toTensor(), samples, generator);
    result.copy_(drawn.view_as(result));
  }
}

// ---- dropout --------------------------------------------------------------------------------------------------------------------

// How many elements that lie one after the other a thread reads at once.
int64_t width_of(const Tensor& input) {
  if (!input.is_non_overlapping_and_dense()) {
    return 1;
  }
  const auto element = static_cast<int64_t>(input.element_size());
  int64_t width = 16 / element;
  const auto address = reinterpret_cast<uintptr_t>(input.const_data_ptr());
  while (width > 1 && (address % static_cast<uintptr_t>(width * element) != 0 || input.numel() % width != 0)) {
    width /= 2;
  }
  return width;
}

void keep_by_threads(bool* kept, int64_t elements, int64_t width, float p, MusaGenerator& generator) {
  const int64_t threads = threads_for(elements);
  const auto [seed, offset] =
      generator.take(static_cast<uint64_t>(rounds_for(elements, threads, kWordsPerCall)) * kWordsPerCall);
  const int64_t calls = (width + 3) / 4; // that a thread makes for what it reads at once
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t group = i / width, within = i % width;
    const int64_t call = group / threads * calls + within / 4;
    const auto words =
        philox(seed, static_cast<uint64_t>(group % threads), offset / kWordsPerCall + static_cast<uint64_t>(call));
    kept[i] = uniform_of(words[static_cast<size_t>(within % 4)]) < p;
  }
}

// Where a thread reads one element, elements are numbered as one reads the tensor, however it lies in memory.
Tensor mask_for(const Tensor& input, double kept, MusaGenerator& generator) {
  const auto mask = at::empty(input.sizes(), input.options().dtype(at::kBool));
  auto* data = mask.mutable_data_ptr<bool>();
  const auto width = width_of(input);
  const auto p = static_cast<float>(kept);
  if (width == 1) {
    const auto store = [&](int64_t i, float number) { data[i] = number < p; };
    for_each_element(input.numel(), generator, uniform4, store);
    return at::empty_like(input, mask.options()).copy_(mask);
  }
  keep_by_threads(data, input.numel(), width, p, generator);
  return mask.as_strided(input.sizes(), input.strides());
}

void native_dropout(const c10::OperatorHandle& op, Stack& stack, MusaGenerator& generator) {
  const auto train = torch::jit::peek(stack, 2, 3);
  const auto p = torch::jit::peek(stack, 1, 3).toDouble();
  const auto input = torch::jit::peek(stack, 0, 3).toTensor();
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  if ((!train.isNone() && !train.toBool()) || input.numel() == 0) {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    return;
  }
  const auto mask = p == 1 ? at::zeros_like(input, input.options().dtype(at::kBool)) : mask_for(input, 1 - p, generator);
  torch::jit::drop(stack, 3);
  stack.emplace_back(input * mask * (p == 1 ? 0 : 1 / (1 - p)));
  stack.emplace_back(mask);
}

} // namespace

Draw draw_of(const std::string& name) {
  static const std::unordered_map<std::string, Draw> known = {
      {"uniform_", of_two_numbers<uniform>},
      {"normal_", of_two_numbers<normal>},
      {"log_normal_", of_two_numbers<log_normal>},
      {"cauchy_", of_two_numbers<cauchy>},
      {"exponential_", of_one_number<exponential>},
      {"geometric_", of_one_number<geometric>},
      {"bernoulli_.float", of_one_number<bernoulli>},
      {"bernoulli_.Tensor", bernoulli_by_tensor},
      {"bernoulli.out", bernoulli_out},
      {"random_", random},
      {"random_.from", random_from},
      {"random_.to", random_to},
      {"normal.Tensor_float", normal_by_tensors},
      {"normal.float_Tensor", normal_by_tensors},
      {"normal.Tensor_Tensor", normal_by_tensors},
      {"normal.Tensor_float_out", normal_by_tensors},
      {"normal.float_Tensor_out", normal_by_tensors},
      {"normal.Tensor_Tensor_out", normal_by_tensors},
      {"randperm.generator_out", randperm},
      {"multinomial", multinomial},
      {"multinomial.out", multinomial},
      {"native_dropout", native_dropout},
  };
  const auto entry = known.find(name);
  return entry == known.end() ? nullptr : entry->second;
}

} // namespace musasim
