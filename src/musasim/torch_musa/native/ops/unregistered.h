// Operators that have kernels of PyTorch's for the CPU, and none of torch_musa's (musa_functions.yaml), or none up to some release.
#pragma once

#include "../runtime/release.h"

#include <string>
#include <unordered_set>

namespace musasim {

// Those that 2.9.1 has added are here as long as an older release is simulated. Most of them work on CUDA; torchada computes those on
// the CPU. `op` is an operator's name without its namespace and overload.
inline bool comes_with_2_9_1(const std::string& op) {
  static const std::unordered_set<std::string> known = {
      "_int_mm", "linalg_matrix_exp", "_compute_linear_combination", "_logcumsumexp", "nonzero_static", "segment_reduce",
      "_segment_reduce_backward", "_jagged_to_padded_dense_forward", "_padded_dense_to_jagged_forward", "_fused_adagrad",
      "_weight_int8pack_mm", "hash_tensor", "sspaddmm", "_to_sparse_bsc", "_to_sparse_bsr", "_to_sparse_csc",
      "special_chebyshev_polynomial_t", "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_v",
      "special_chebyshev_polynomial_w", "special_hermite_polynomial_h", "special_hermite_polynomial_he",
      "special_laguerre_polynomial_l", "special_legendre_polynomial_p", "special_shifted_chebyshev_polynomial_t",
      "special_shifted_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_v",
      "special_shifted_chebyshev_polynomial_w", "special_modified_bessel_i0", "special_modified_bessel_i1",
      "special_modified_bessel_k0", "special_modified_bessel_k1", "special_scaled_modified_bessel_k0",
      "special_scaled_modified_bessel_k1", "special_spherical_bessel_j0"};
  return known.count(op) != 0;
}

// No release that was read has them. The list of 2.11.0 was not: what it may have added is missing here, too.
inline bool is_in_no_release(const std::string& op) {
  static const std::unordered_set<std::string> known = {
      // CUDA has these.
      "_scaled_mm_v2", "_slow_conv2d_forward", "_slow_conv2d_backward", "slow_conv_dilated2d", "slow_conv_dilated3d",
      "slow_conv_transpose2d", "slow_conv_transpose3d", "_philox_key_fold_in", "_philox_key_split", "_philox_normal",
      "_philox_randint", "_philox_uniform", "linalg_matrix_sqrth", "linalg_polar",
      // Neither has CUDA these.
      "histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors", "_add_relu",
      "_convert_weight_to_int4pack_for_cpu", "_dyn_quant_matmul_4bit", "_dyn_quant_pack_4bit_weight",
      "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward", "_spdiags",
      "_upsample_lanczos2d_aa", "_upsample_lanczos2d_aa_backward", "_weight_int4pack_mm_for_cpu", "mkldnn_rnn_layer",
      "mkldnn_rnn_layer_backward", "quantized_gru", "quantized_lstm", "slow_conv3d_forward", "to_mkldnn"};
  return known.count(op) != 0;
}

inline bool is_unregistered(const std::string& op) {
  return is_in_no_release(op) || (!since(Release::v2_9_1) && comes_with_2_9_1(op));
}

// Of dense tensors alone: other tensors have had these since 2.7.1.
inline bool is_unregistered_of_dense(const std::string& op) {
  return !since(Release::v2_9_1) && (op == "_to_sparse_csr" || op == "dequantize");
}

} // namespace musasim
