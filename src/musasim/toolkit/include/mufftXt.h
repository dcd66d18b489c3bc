// muFFT's plans by types of numbers.
#pragma once

#include "mufft.h"

extern "C" {

MUFFTAPI mufftResult mufftXtMakePlanMany(mufftHandle plan, int rank, long long* n, long long* inembed, long long istride,
                                         long long idist, musaDataType intype, long long* onembed, long long ostride,
                                         long long odist, musaDataType outtype, long long batch, size_t* bytes,
                                         musaDataType executiontype);
MUFFTAPI mufftResult mufftXtExec(mufftHandle plan, void* in, void* out, int direction);
}
