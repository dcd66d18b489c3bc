// BLAS's routines for the four types of numbers, and products of the types that no BLAS knows.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cpu.h"
#include "library_types.h"
#include "muComplex.h"
#include "musa_bf16.h"
#include "musa_fp16.h"

namespace musasim {

// The letter with which BLAS and LAPACK name a type's routines.
template <class T>
constexpr char letter_of() {
  if constexpr (std::is_same_v<T, float>) return 's';
  if constexpr (std::is_same_v<T, double>) return 'd';
  if constexpr (std::is_same_v<T, muComplex>) return 'c';
  return 'z';
}

// A routine of a type, as blas<float>("gemm"); nullptr if there is none, and the reason is on stderr.
template <class T>
void* blas(const char* name) {
  return cpu_routine((letter_of<T>() + std::string(name) + "_").c_str());
}

template <class... Arguments>
void call(void* routine, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(routine)(arguments...);
}

template <class T>
using RealOf = std::conditional_t<std::is_same_v<T, muComplex>, float, std::conditional_t<std::is_same_v<T, muDoubleComplex>, double, T>>;

template <class T>
constexpr bool is_complex = !std::is_same_v<T, RealOf<T>>;

// C++'s complex number of the same layout, for arithmetic.
template <class T>
using Number = std::conditional_t<is_complex<T>, std::complex<RealOf<T>>, T>;

template <class T>
Number<T> number(const T& value) {
  if constexpr (is_complex<T>) return {value.x, value.y};
  else return value;
}
template <class T>
T stored(const Number<T>& value) {
  if constexpr (is_complex<T>) return {value.real(), value.imag()};
  else return value;
}

template <class T>
Number<T> conjugate(const Number<T>& value) {
  if constexpr (is_complex<T>) return std::conj(value);
  else return value;
}

// Where the first element of a vector is: with a negative step, a vector is walked through from its end.
inline std::ptrdiff_t first_of(int n, int step) {
  return step < 0 ? static_cast<std::ptrdiff_t>(1 - n) * step : 0;
}

// --- numbers by their type's name --------------------------------------------------------------------------------------------------

inline size_t size_of(musaDataType_t type) {
  switch (type) {
    case MUSA_R_8I: case MUSA_R_8U: return 1;
    case MUSA_R_16F: case MUSA_R_16BF: return 2;
    case MUSA_R_32F: case MUSA_R_32I: return 4;
    case MUSA_R_64F: case MUSA_C_32F: return 8;
    case MUSA_C_64F: return 16;
    default: return 0;  // a type that products do not take
  }
}

inline double load(musaDataType_t type, const void* data, std::ptrdiff_t i) {
  switch (type) {
    case MUSA_R_8I: return static_cast<const int8_t*>(data)[i];
    case MUSA_R_8U: return static_cast<const uint8_t*>(data)[i];
    case MUSA_R_16F: return static_cast<float>(static_cast<const __half*>(data)[i]);
    case MUSA_R_16BF: return static_cast<float>(static_cast<const __mt_bfloat16*>(data)[i]);
    case MUSA_R_32F: return static_cast<const float*>(data)[i];
    case MUSA_R_32I: return static_cast<const int32_t*>(data)[i];
    default: return static_cast<const double*>(data)[i];
  }
}

inline void store(musaDataType_t type, void* data, std::ptrdiff_t i, double value) {
  switch (type) {
    case MUSA_R_8I: static_cast<int8_t*>(data)[i] = static_cast<int8_t>(value); break;
    case MUSA_R_8U: static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(value); break;
    case MUSA_R_16F: static_cast<__half*>(data)[i] = __half(static_cast<float>(value)); break;
    case MUSA_R_16BF: static_cast<__mt_bfloat16*>(data)[i] = __mt_bfloat16(static_cast<float>(value)); break;
    case MUSA_R_32F: static_cast<float*>(data)[i] = static_cast<float>(value); break;
    case MUSA_R_32I: static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value); break;
    default: static_cast<double*>(data)[i] = value;
  }
}

// --- products ----------------------------------------------------------------------------------------------------------------------

// The letters of mublasOperation_t.
inline char operation(int op) {
  return "NTC"[op];
}

template <class T>
struct Product {
  char transa, transb;
  int m, n, k, lda, ldb, ldc;

  // c = alpha op(a) op(b) + beta c.
  void operator()(void* gemm, const T& alpha, const T* a, const T* b, const T& beta, T* c) const {
    call(gemm, &transa, &transb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
  }
};

// A copy of a matrix of `rows` by `columns`, without gaps, as numbers of type T.
template <class T>
std::vector<T> widened(musaDataType_t type, const void* data, int rows, int columns, int ld) {
  std::vector<T> all(static_cast<size_t>(rows) * columns);
  for (std::ptrdiff_t j = 0; j < columns; ++j) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) all[j * rows + i] = static_cast<T>(load(type, data, j * ld + i));
  }
  return all;
}

template <class T>
void narrowed(const std::vector<T>& all, musaDataType_t type, void* data, int rows, int columns, int ld) {
  for (std::ptrdiff_t j = 0; j < columns; ++j) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) store(type, data, j * ld + i, all[j * rows + i]);
  }
}

}  // namespace musasim
