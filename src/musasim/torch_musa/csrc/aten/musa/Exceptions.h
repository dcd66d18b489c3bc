#pragma once

#include "torch_musa/csrc/core/MUSAException.h"

#include <ATen/Context.h>
#include <mublas.h>
#include <musolver.h>

#define AT_MUSA_CHECK(EXPR) C10_MUSA_CHECK(EXPR)

#define AT_MUSA_DRIVER_CHECK(EXPR)                                                           \
  do {                                                                                       \
    const MUresult result_ = (EXPR);                                                         \
    const char* text_ = nullptr;                                                             \
    const bool known_ = result_ == MUSA_SUCCESS || muGetErrorString(result_, &text_) == MUSA_SUCCESS; \
    TORCH_CHECK(result_ == MUSA_SUCCESS, "MUSA driver error: ", known_ ? text_ : "unknown error"); \
  } while (0)

#define TORCH_MUSABLAS_CHECK(EXPR)                                                                          \
  do {                                                                                                      \
    const mublasStatus_t status_ = (EXPR);                                                                  \
    TORCH_CHECK(                                                                                            \
        status_ == MUBLAS_STATUS_SUCCESS, "MUSA error: ", mublasGetStatusName(status_), " when calling `" #EXPR "`"); \
  } while (0)

#define TORCH_MUSOLVER_CHECK(EXPR)                                                                                 \
  do {                                                                                                             \
    const musolverStatus_t status_ = (EXPR);                                                                       \
    TORCH_CHECK(                                                                                                   \
        status_ == MUSOLVER_STATUS_SUCCESS, "musolver error: ", static_cast<int>(status_), ", when calling `" #EXPR "`. "); \
  } while (0)
