#include <torch/extension.h>

at::Tensor hypotenuse(const at::Tensor& a, const at::Tensor& b);
at::Tensor scaled_sum(const at::Tensor& a, const at::Tensor& b);
at::Tensor largest(const at::Tensor& a, int64_t dim);
std::vector<at::Tensor> scaled(const std::vector<at::Tensor>& tensors, double factor);
at::Tensor row_sums(const at::Tensor& a);
at::Tensor counts(const at::Tensor& a, int64_t bins, bool halves);
at::Tensor twice(const at::Tensor& a);
at::Tensor lanes_of_a_warp(const at::Tensor& like);
at::Tensor contiguous(const at::Tensor& a);
at::Tensor softmax(const at::Tensor& a);
at::Tensor running_sum(const at::Tensor& a);
at::Tensor sorted(const at::Tensor& a);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("hypotenuse", &hypotenuse);
  m.def("scaled_sum", &scaled_sum);
  m.def("largest", &largest);
  m.def("scaled", &scaled);
  m.def("row_sums", &row_sums);
  m.def("counts", &counts);
  m.def("twice", &twice);
  m.def("lanes_of_a_warp", &lanes_of_a_warp);
  m.def("contiguous", &contiguous);
  m.def("softmax", &softmax);
  m.def("running_sum", &running_sum);
  m.def("sorted", &sorted);
}
