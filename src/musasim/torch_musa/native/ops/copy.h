#pragma once

#include <ATen/core/Tensor.h>

namespace musasim {

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& destination, bool non_blocking);
at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& destination);
at::Scalar local_scalar_dense(const at::Tensor& tensor);

} // namespace musasim
