// Operators that have kernels of PyTorch's for the CPU, and none of torch_musa 2.7.1's (musa_functions.yaml).
#pragma once

#include <string>
#include <unordered_set>

namespace musasim {

// Most of them work on CUDA; torchada computes those on the CPU. `op` is an operator's name without its namespace and overload.
inline bool is_unregistered(const std::string& op) {
  static const std::unordered_set<std::string> known = {
      "_int_mm", "linalg_matrix_exp", "_logcumsumexp", "nonzero_static", "segment_reduce", "_segment_reduce_backward",
      "_jagged_to_padded_dense_forward", "_padded_dense_to_jagged_forward", "special_chebyshev_polynomial_t",
      "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_v", "special_chebyshev_polynomial_w",
      "special_hermite_polynomial_h", "special_hermite_polynomial_he", "special_laguerre_polynomial_l",
      "special_legendre_polynomial_p", "special_shifted_chebyshev_polynomial_t", "special_shifted_chebyshev_polynomial_u",
      "special_shifted_chebyshev_polynomial_v", "special_shifted_chebyshev_polynomial_w", "special_modified_bessel_i0",
      "special_modified_bessel_i1", "special_modified_bessel_k0", "special_modified_bessel_k1",
      "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1", "special_spherical_bessel_j0",
      // Neither has CUDA these.
      "histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors"};
  return known.count(op) != 0;
}

} // namespace musasim
