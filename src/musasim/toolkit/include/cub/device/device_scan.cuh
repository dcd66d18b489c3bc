// cub::DeviceScan. The output may be the input.
#pragma once

#include "cub/detail/on_stream.cuh"
#include "cub/thread/thread_operators.cuh"

CUB_NAMESPACE_BEGIN

struct DeviceScan {
  template <class In, class Out, class Operator, class T, class Count>
  static musaError_t ExclusiveScan(void* storage, std::size_t& bytes, In in, Out out, Operator combine, T initial, Count count,
                                   musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable { exclusive(in, out, combine, initial, count); });
  }
  template <class In, class Out, class Operator, class T, class Iterator, class Count>
  static musaError_t ExclusiveScan(void* storage, std::size_t& bytes, In in, Out out, Operator combine,
                                   FutureValue<T, Iterator> initial, Count count, musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream,
                                [=]() mutable { exclusive(in, out, combine, static_cast<T>(initial), count); });
  }
  template <class In, class Out, class Operator, class Count>
  static musaError_t InclusiveScan(void* storage, std::size_t& bytes, In in, Out out, Operator combine, Count count,
                                   musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      if (count <= 0) return;
      std::decay_t<decltype(combine(in[0], in[0]))> result = in[0];
      out[0] = result;
      for (Count i = 1; i < count; ++i) out[i] = result = combine(result, in[i]);
    });
  }
  template <class In, class Out, class Count>
  static musaError_t ExclusiveSum(void* storage, std::size_t& bytes, In in, Out out, Count count, musaStream_t stream = nullptr,
                                  bool = false) {
    return ExclusiveScan(storage, bytes, in, out, cub::Sum(), detail::value_t<In>(), count, stream);
  }
  template <class In, class Out, class Count>
  static musaError_t InclusiveSum(void* storage, std::size_t& bytes, In in, Out out, Count count, musaStream_t stream = nullptr,
                                  bool = false) {
    return InclusiveScan(storage, bytes, in, out, cub::Sum(), count, stream);
  }

  // A new scan begins wherever a key differs from the one before.
  template <class Keys, class In, class Out, class Operator, class Count, class Equal = Equality>
  static musaError_t InclusiveScanByKey(void* storage, std::size_t& bytes, Keys keys, In in, Out out, Operator combine, Count count,
                                        Equal equal = Equal(), musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      detail::value_t<In> result{};
      for (Count i = 0; i < count; ++i) {
        const bool goes_on = i > 0 && equal(keys[i - 1], keys[i]);
        result = goes_on ? detail::value_t<In>(combine(result, in[i])) : detail::value_t<In>(in[i]);
        out[i] = result;
      }
    });
  }
  template <class Keys, class In, class Out, class Operator, class T, class Count, class Equal = Equality>
  static musaError_t ExclusiveScanByKey(void* storage, std::size_t& bytes, Keys keys, In in, Out out, Operator combine, T initial,
                                        Count count, Equal equal = Equal(), musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      T before = initial;
      for (Count i = 0; i < count; ++i) {
        if (i > 0 && !equal(keys[i - 1], keys[i])) before = initial;
        const detail::value_t<In> item = in[i];
        out[i] = before;
        before = combine(before, item);
      }
    });
  }
  template <class Keys, class In, class Out, class Count, class Equal = Equality>
  static musaError_t InclusiveSumByKey(void* storage, std::size_t& bytes, Keys keys, In in, Out out, Count count, Equal equal = Equal(),
                                       musaStream_t stream = nullptr, bool = false) {
    return InclusiveScanByKey(storage, bytes, keys, in, out, cub::Sum(), count, equal, stream);
  }
  template <class Keys, class In, class Out, class Count, class Equal = Equality>
  static musaError_t ExclusiveSumByKey(void* storage, std::size_t& bytes, Keys keys, In in, Out out, Count count, Equal equal = Equal(),
                                       musaStream_t stream = nullptr, bool = false) {
    return ExclusiveScanByKey(storage, bytes, keys, in, out, cub::Sum(), detail::value_t<In>(), count, equal, stream);
  }

 private:
  template <class In, class Out, class Operator, class T, class Count>
  static void exclusive(In in, Out out, Operator combine, T initial, Count count) {
    std::decay_t<decltype(combine(initial, in[0]))> before = initial;
    for (Count i = 0; i < count; ++i) {
      const detail::value_t<In> item = in[i];
      out[i] = before;
      before = combine(before, item);
    }
  }
};

CUB_NAMESPACE_END
