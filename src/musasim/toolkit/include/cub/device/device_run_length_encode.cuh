// cub::DeviceRunLengthEncode.
#pragma once

#include "cub/device/device_reduce.cuh"
#include "cub/iterator/constant_input_iterator.cuh"

CUB_NAMESPACE_BEGIN

struct DeviceRunLengthEncode {
  template <class In, class UniqueOut, class LengthsOut, class CountOut, class Count>
  static musaError_t Encode(void* storage, std::size_t& bytes, In in, UniqueOut unique, LengthsOut lengths, CountOut count_of_runs,
                            Count count, musaStream_t stream = nullptr, bool = false) {
    using Length = detail::non_void_value_t<LengthsOut, Count>;
    return DeviceReduce::ReduceByKey(storage, bytes, in, unique, ConstantInputIterator<Length>(1), lengths, count_of_runs, cub::Sum(),
                                     count, stream);
  }
};

CUB_NAMESPACE_END
