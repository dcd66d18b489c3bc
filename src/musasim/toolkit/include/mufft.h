// The host API of muFFT: plans of one to three dimensions, batches with strides, all six kinds of transforms.
#pragma once

#include "library_types.h"
#include "muComplex.h"
#include "musa_runtime_api.h"

#define MUFFTAPI __attribute__((visibility("default")))

enum mufftResult_t {
  MUFFT_SUCCESS = 0,
  MUFFT_INVALID_PLAN = 1,
  MUFFT_ALLOC_FAILED = 2,
  MUFFT_INVALID_TYPE = 3,
  MUFFT_INVALID_VALUE = 4,
  MUFFT_INTERNAL_ERROR = 5,
  MUFFT_EXEC_FAILED = 6,
  MUFFT_SETUP_FAILED = 7,
  MUFFT_INVALID_SIZE = 8,
  MUFFT_UNALIGNED_DATA = 9,
  MUFFT_INCOMPLETE_PARAMETER_LIST = 10,
  MUFFT_INVALID_DEVICE = 11,
  MUFFT_PARSE_ERROR = 12,
  MUFFT_NO_WORKSPACE = 13,
  MUFFT_NOT_IMPLEMENTED = 14,
  MUFFT_LICENSE_ERROR = 15,
  MUFFT_NOT_SUPPORTED = 16
};
typedef mufftResult_t mufftResult;
enum mufftType_t { MUFFT_R2C = 0x2a, MUFFT_C2R = 0x2c, MUFFT_C2C = 0x29, MUFFT_D2Z = 0x6a, MUFFT_Z2D = 0x6c, MUFFT_Z2Z = 0x69 };
typedef mufftType_t mufftType;
#define MUFFT_FORWARD -1
#define MUFFT_INVERSE 1

typedef int mufftHandle;
typedef float mufftReal;
typedef double mufftDoubleReal;
typedef muComplex mufftComplex;
typedef muDoubleComplex mufftDoubleComplex;

extern "C" {

MUFFTAPI mufftResult mufftCreate(mufftHandle* plan);
MUFFTAPI mufftResult mufftDestroy(mufftHandle plan);
MUFFTAPI mufftResult mufftGetVersion(int* version);
MUFFTAPI mufftResult mufftSetStream(mufftHandle plan, musaStream_t stream);
MUFFTAPI mufftResult mufftSetAutoAllocation(mufftHandle plan, int automatic);
MUFFTAPI mufftResult mufftSetWorkArea(mufftHandle plan, void* area);
MUFFTAPI mufftResult mufftGetSize(mufftHandle plan, size_t* bytes);

MUFFTAPI mufftResult mufftPlan1d(mufftHandle* plan, int nx, mufftType type, int batch);
MUFFTAPI mufftResult mufftPlan2d(mufftHandle* plan, int nx, int ny, mufftType type);
MUFFTAPI mufftResult mufftPlan3d(mufftHandle* plan, int nx, int ny, int nz, mufftType type);
MUFFTAPI mufftResult mufftPlanMany(mufftHandle* plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                                   int ostride, int odist, mufftType type, int batch);
MUFFTAPI mufftResult mufftMakePlan1d(mufftHandle plan, int nx, mufftType type, int batch, size_t* bytes);
MUFFTAPI mufftResult mufftMakePlan2d(mufftHandle plan, int nx, int ny, mufftType type, size_t* bytes);
MUFFTAPI mufftResult mufftMakePlan3d(mufftHandle plan, int nx, int ny, int nz, mufftType type, size_t* bytes);
MUFFTAPI mufftResult mufftMakePlanMany(mufftHandle plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                                       int ostride, int odist, mufftType type, int batch, size_t* bytes);

MUFFTAPI mufftResult mufftExecC2C(mufftHandle plan, mufftComplex* in, mufftComplex* out, int direction);
MUFFTAPI mufftResult mufftExecR2C(mufftHandle plan, mufftReal* in, mufftComplex* out);
MUFFTAPI mufftResult mufftExecC2R(mufftHandle plan, mufftComplex* in, mufftReal* out);
MUFFTAPI mufftResult mufftExecZ2Z(mufftHandle plan, mufftDoubleComplex* in, mufftDoubleComplex* out, int direction);
MUFFTAPI mufftResult mufftExecD2Z(mufftHandle plan, mufftDoubleReal* in, mufftDoubleComplex* out);
MUFFTAPI mufftResult mufftExecZ2D(mufftHandle plan, mufftDoubleComplex* in, mufftDoubleReal* out);
}
