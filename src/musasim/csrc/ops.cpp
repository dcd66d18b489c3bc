// One compiler run for everything that computes.
#include "ops/alias.cpp"
#include "ops/attention.cpp"
#include "ops/composites.cpp"
#include "ops/copy.cpp"
#include "ops/graph.cpp"
#include "ops/quantized.cpp"
#include "ops/quantized_convolution.cpp"
#include "ops/quantized_linear.cpp"
#include "ops/quantized_pointwise.cpp"
#include "ops/record.cpp"
#include "ops/scaled_matmul.cpp"
#include "ops/shape.cpp"
#include "ops/signature.cpp"
#include "ops/tensor_data.cpp"
#include "ops/unowned.cpp"

// Last, because it supplies kernels for the operators that have none by then.
#include "ops/fallback.cpp"
