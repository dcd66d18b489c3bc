// cub::DeviceSegmentedReduce: segment i is [begins[i], ends[i]).
#pragma once

#include "cub/device/device_reduce.cuh"

CUB_NAMESPACE_BEGIN

struct DeviceSegmentedReduce {
  template <class In, class Out, class Begins, class Ends, class Operator, class T>
  static musaError_t Reduce(void* storage, std::size_t& bytes, In in, Out out, int segments, Begins begins, Ends ends, Operator combine,
                            T initial, musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      for (int i = 0; i < segments; ++i) {
        using Offset = detail::value_t<Begins>;
        out[i] = detail::reduced(in, Offset(begins[i]), static_cast<Offset>(ends[i]), combine, initial);
      }
    });
  }
  template <class In, class Out, class Begins, class Ends>
  static musaError_t Sum(void* storage, std::size_t& bytes, In in, Out out, int segments, Begins begins, Ends ends,
                         musaStream_t stream = nullptr, bool = false) {
    using T = detail::non_void_value_t<Out, detail::value_t<In>>;
    return Reduce(storage, bytes, in, out, segments, begins, ends, cub::Sum(), T(), stream);
  }
  template <class In, class Out, class Begins, class Ends>
  static musaError_t Min(void* storage, std::size_t& bytes, In in, Out out, int segments, Begins begins, Ends ends,
                         musaStream_t stream = nullptr, bool = false) {
    using T = detail::value_t<In>;
    return Reduce(storage, bytes, in, out, segments, begins, ends, cub::Min(), T(Traits<T>::Max()), stream);
  }
  template <class In, class Out, class Begins, class Ends>
  static musaError_t Max(void* storage, std::size_t& bytes, In in, Out out, int segments, Begins begins, Ends ends,
                         musaStream_t stream = nullptr, bool = false) {
    using T = detail::value_t<In>;
    return Reduce(storage, bytes, in, out, segments, begins, ends, cub::Max(), T(Traits<T>::Lowest()), stream);
  }
  template <class In, class Out, class Begins, class Ends>
  static musaError_t ArgMin(void* storage, std::size_t& bytes, In in, Out out, int segments, Begins begins, Ends ends,
                            musaStream_t stream = nullptr, bool = false) {
    return best(storage, bytes, in, out, segments, begins, ends, cub::ArgMin(), Traits<detail::value_t<In>>::Max(), stream);
  }
  template <class In, class Out, class Begins, class Ends>
  static musaError_t ArgMax(void* storage, std::size_t& bytes, In in, Out out, int segments, Begins begins, Ends ends,
                            musaStream_t stream = nullptr, bool = false) {
    return best(storage, bytes, in, out, segments, begins, ends, cub::ArgMax(), Traits<detail::value_t<In>>::Lowest(), stream);
  }

 private:
  template <class In, class Out, class Begins, class Ends, class Operator, class T>
  static musaError_t best(void* storage, std::size_t& bytes, In in, Out out, int segments, Begins begins, Ends ends, Operator combine,
                          T worst, musaStream_t stream) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      for (int i = 0; i < segments; ++i) {
        using Offset = detail::value_t<Begins>;
        out[i] = detail::best<detail::PairOf<Out, In>>(in, Offset(begins[i]), static_cast<Offset>(ends[i]), combine, worst);
      }
    });
  }
};

CUB_NAMESPACE_END
