// The operators of nested tensors that torch_musa 2.7.1 registers (musa_functions.yaml); it has no others. They are PyTorch's own,
// which are made of views and of operators of ordinary tensors.
#include <ATen/NativeFunctions.h>
#include <torch/library.h>

namespace musasim {

TORCH_LIBRARY_IMPL(aten, NestedTensorPrivateUse1, library) {
  library.impl("unbind.int", &at::native::NestedTensor_unbind);
  library.impl("values", &at::native::values_nested);
  library.impl("split_with_sizes", &at::native::split_with_sizes_nested);
  library.impl("to_padded_tensor", &at::native::NestedTensor_to_padded_tensor_generic);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("_nested_tensor_from_mask", &at::native::NestedTensor_nested_tensor_from_mask);
  library.impl("_nested_tensor_from_mask_left_aligned", &at::native::NestedTensor_nested_tensor_from_mask_left_aligned);
  library.impl("_nested_from_padded", &at::native::nested_from_padded_generic);
  library.impl("_nested_view_from_buffer", &at::native::_nested_view_from_buffer);
  library.impl(
      "_nested_compute_contiguous_strides_offsets", &at::native::_nested_compute_contiguous_strides_offsets);
}

} // namespace musasim
