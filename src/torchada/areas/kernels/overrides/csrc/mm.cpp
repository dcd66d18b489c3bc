// torch.mm(a, b, out_dtype=...): products of half precision, added up and returned in single precision. torch_musa gives wrong values
// before 2.13.0, or has no such kernel; PyTorch has one for CUDA alone.
#include "matmul_dtype.h"

#include <ATen/ops/mm.h>

static at::Tensor mm(const at::Tensor& self, const at::Tensor& other, at::ScalarType out_dtype) {
  torchada::check_out_dtype(self, other, out_dtype);
  return at::mm(self.to(out_dtype), other.to(out_dtype));
}

static at::Tensor& mm_out(const at::Tensor& self, const at::Tensor& other, at::ScalarType out_dtype, at::Tensor& out) {
  torchada::check_out_dtype(self, other, out_dtype);
  return at::mm_out(out, self.to(out_dtype), other.to(out_dtype));
}

TORCHADA_OVERRIDE("mm.dtype", mm, "2.13.0");
TORCHADA_OVERRIDE("mm.dtype_out", mm_out, "2.13.0");
