// libmufft.so: transforms of any length, computed in double: by halves where the length is even, and otherwise as a convolution (Bluestein).
// Only some builds of PyTorch bring a library of transforms along that can be called, so this does not use it.
#include "mufftXt.h"

#include <array>
#include <cmath>
#include <complex>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu.h"

using namespace musasim;

namespace {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

Complex turn(double part, int sign) {
  return std::polar(1.0, sign * 2 * M_PI * part);
}

void transform(Line& x, int sign);

// The length is even, or one.
void by_halves(Line& x, int sign) {
  const size_t n = x.size();
  if (n == 1) return;
  Line even(n / 2), odd(n / 2);
  for (size_t i = 0; i < n / 2; ++i) even[i] = x[2 * i], odd[i] = x[2 * i + 1];
  transform(even, sign);
  transform(odd, sign);
  for (size_t i = 0; i < n / 2; ++i) {
    const Complex other = turn(static_cast<double>(i) / static_cast<double>(n), sign) * odd[i];
    x[i] = even[i] + other;
    x[i + n / 2] = even[i] - other;
  }
}

// exp(sign i pi k^2 / n), with k^2 reduced first, because large angles lose digits.
Complex chirp(size_t k, size_t n, int sign) {
  return turn(static_cast<double>((k * k) % (2 * n)) / static_cast<double>(2 * n), sign);
}

void by_convolution(Line& x, int sign) {
  const size_t n = x.size();
  size_t padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  Line a(padded), b(padded);
  for (size_t k = 0; k < n; ++k) a[k] = x[k] * chirp(k, n, sign);
  for (size_t k = 0; k < n; ++k) b[k] = b[(padded - k) % padded] = chirp(k, n, -sign);
  by_halves(a, -1);
  by_halves(b, -1);
  for (size_t k = 0; k < padded; ++k) a[k] *= b[k];
  by_halves(a, 1);
  for (size_t k = 0; k < n; ++k) x[k] = a[k] / static_cast<double>(padded) * chirp(k, n, sign);
}

void transform(Line& x, int sign) {
  x.size() % 2 == 0 || x.size() == 1 ? by_halves(x, sign) : by_convolution(x, sign);
}

// One side of a plan: where its numbers lie. `extents` are those of the array that the numbers are a part of.
struct Side {
  musaDataType type;
  std::array<long long, 3> extents;
  long long stride, distance;

  long long place(long long batch, const std::array<long long, 3>& at) const {
    return batch * distance + stride * ((at[0] * extents[1] + at[1]) * extents[2] + at[2]);
  }
  bool is_real() const { return type == MUSA_R_32F || type == MUSA_R_64F; }
};

Complex load(const Side& side, const void* data, long long i) {
  switch (side.type) {
    case MUSA_R_32F: return static_cast<const float*>(data)[i];
    case MUSA_R_64F: return static_cast<const double*>(data)[i];
    case MUSA_C_32F: return {static_cast<const muComplex*>(data)[i].x, static_cast<const muComplex*>(data)[i].y};
    default: return {static_cast<const muDoubleComplex*>(data)[i].x, static_cast<const muDoubleComplex*>(data)[i].y};
  }
}

void store(const Side& side, void* data, long long i, Complex value) {
  switch (side.type) {
    case MUSA_R_32F: static_cast<float*>(data)[i] = static_cast<float>(value.real()); break;
    case MUSA_R_64F: static_cast<double*>(data)[i] = value.real(); break;
    case MUSA_C_32F: static_cast<muComplex*>(data)[i] = {static_cast<float>(value.real()), static_cast<float>(value.imag())}; break;
    default: static_cast<muDoubleComplex*>(data)[i] = {value.real(), value.imag()};
  }
}

struct Plan {
  bool made = false;
  std::array<long long, 3> n{1, 1, 1};  // missing dimensions come first
  long long batch = 1;
  Side in{}, out{};
  musaStream_t stream = nullptr;

  long long size() const { return n[0] * n[1] * n[2]; }
  // Of a transform between real and complex numbers, half of the complex ones are stored.
  long long stored_width(const Side& side) const { return (in.is_real() || out.is_real()) && !side.is_real() ? n[2] / 2 + 1 : n[2]; }
};

template <class Function>
void each_place(const Plan& plan, long long width, Function function) {
  for (long long i = 0; i < plan.n[0]; ++i) {
    for (long long j = 0; j < plan.n[1]; ++j) {
      for (long long k = 0; k < width; ++k) function(std::array<long long, 3>{i, j, k});
    }
  }
}

size_t flat(const Plan& plan, const std::array<long long, 3>& at) {
  return static_cast<size_t>((at[0] * plan.n[1] + at[1]) * plan.n[2] + at[2]);
}

// All numbers of one transform; the half that is not stored is the conjugate of the other.
Line gathered(const Plan& plan, const void* data, long long batch) {
  Line all(static_cast<size_t>(plan.size()));
  const long long width = plan.stored_width(plan.in);
  each_place(plan, width, [&](auto at) { all[flat(plan, at)] = load(plan.in, data, plan.in.place(batch, at)); });
  if (width == plan.n[2]) return all;
  each_place(plan, plan.n[2], [&](auto at) {
    const std::array<long long, 3> mirror{(plan.n[0] - at[0]) % plan.n[0], (plan.n[1] - at[1]) % plan.n[1], plan.n[2] - at[2]};
    if (at[2] >= width) all[flat(plan, at)] = std::conj(all[flat(plan, mirror)]);
  });
  return all;
}

// Along each dimension in turn.
void transform_all(const Plan& plan, Line& all, int sign) {
  const long long steps[] = {plan.n[1] * plan.n[2], plan.n[2], 1};
  for (int d = 0; d < 3; ++d) {
    if (plan.n[d] == 1) continue;
    Line line(static_cast<size_t>(plan.n[d]));
    for (long long start = 0; start < plan.size(); ++start) {
      if (start / steps[d] % plan.n[d] != 0) continue;
      for (long long i = 0; i < plan.n[d]; ++i) line[i] = all[start + i * steps[d]];
      transform(line, sign);
      for (long long i = 0; i < plan.n[d]; ++i) all[start + i * steps[d]] = line[i];
    }
  }
}

void execute(const Plan& plan, const void* in, void* out, int sign) {
  for (long long b = 0; b < plan.batch; ++b) {
    Line all = gathered(plan, in, b);
    transform_all(plan, all, sign);
    each_place(plan, plan.stored_width(plan.out),
               [&](auto at) { store(plan.out, out, plan.out.place(b, at), all[flat(plan, at)]); });
  }
}

// --- handles -----------------------------------------------------------------------------------------------------------------------

std::mutex mutex;
std::map<mufftHandle, std::shared_ptr<Plan>> plans;
mufftHandle next = 1;

std::shared_ptr<Plan> plan_of(mufftHandle handle) {
  const std::lock_guard lock(mutex);
  const auto found = plans.find(handle);
  return found == plans.end() ? nullptr : found->second;
}

struct Types {
  musaDataType in, out;
};
bool types_of(mufftType type, Types* types) {
  switch (type) {
    case MUFFT_C2C: *types = {MUSA_C_32F, MUSA_C_32F}; return true;
    case MUFFT_R2C: *types = {MUSA_R_32F, MUSA_C_32F}; return true;
    case MUFFT_C2R: *types = {MUSA_C_32F, MUSA_R_32F}; return true;
    case MUFFT_Z2Z: *types = {MUSA_C_64F, MUSA_C_64F}; return true;
    case MUFFT_D2Z: *types = {MUSA_R_64F, MUSA_C_64F}; return true;
    case MUFFT_Z2D: *types = {MUSA_C_64F, MUSA_R_64F}; return true;
  }
  return false;
}

// The layout that a program gives, or the one without gaps.
Side side_of(const Plan& plan, musaDataType type, int rank, const long long* embed, long long stride, long long distance) {
  Side side{type, plan.n, stride, distance};
  const long long width = plan.stored_width(side);
  if (embed == nullptr) {
    side.extents[2] = width;
    side.stride = 1;
    side.distance = plan.n[0] * plan.n[1] * width;
  } else {
    for (int d = 0; d < rank; ++d) side.extents[3 - rank + d] = embed[d];
  }
  return side;
}

bool is_pair(musaDataType in, musaDataType out) {
  const bool single = in == MUSA_R_32F || in == MUSA_C_32F, other = out == MUSA_R_32F || out == MUSA_C_32F;
  const bool known = single || in == MUSA_R_64F || in == MUSA_C_64F;
  const bool real = in == MUSA_R_32F || in == MUSA_R_64F, back = out == MUSA_R_32F || out == MUSA_R_64F;
  return known && single == other && !(real && back) && (other || out == MUSA_R_64F || out == MUSA_C_64F);
}

}  // namespace

mufftResult mufftXtMakePlanMany(mufftHandle handle, int rank, long long* n, long long* inembed, long long istride,
                                long long idist, musaDataType intype, long long* onembed, long long ostride, long long odist,
                                musaDataType outtype, long long batch, size_t* bytes, musaDataType) {
  const auto plan = plan_of(handle);
  if (plan == nullptr) return MUFFT_INVALID_PLAN;
  if (rank < 1 || rank > 3 || n == nullptr) return MUFFT_INVALID_VALUE;
  if (!is_pair(intype, outtype)) return MUFFT_INVALID_TYPE;
  for (int d = 0; d < rank; ++d) {
    if (n[d] < 1) return MUFFT_INVALID_SIZE;
    plan->n[3 - rank + d] = n[d];
  }
  if (batch < 1) return MUFFT_INVALID_SIZE;
  plan->batch = batch;
  plan->in.type = intype;
  plan->out.type = outtype;
  const bool plain = inembed == nullptr || onembed == nullptr;
  const Side in = side_of(*plan, intype, rank, plain ? nullptr : inembed, istride, idist);
  plan->out = side_of(*plan, outtype, rank, plain ? nullptr : onembed, ostride, odist);
  plan->in = in;
  plan->made = true;
  if (bytes) *bytes = 0;
  return MUFFT_SUCCESS;
}

namespace {
mufftResult make(mufftHandle handle, int rank, const int* n, const int* inembed, int istride, int idist, const int* onembed,
                 int ostride, int odist, mufftType type, int batch, size_t* bytes) {
  Types types{};
  if (!types_of(type, &types)) return MUFFT_INVALID_TYPE;
  if (rank < 1 || rank > 3 || n == nullptr) return MUFFT_INVALID_VALUE;
  long long sizes[3], in[3], out[3];
  for (int d = 0; d < rank; ++d) {
    sizes[d] = n[d];
    in[d] = inembed ? inembed[d] : 0;
    out[d] = onembed ? onembed[d] : 0;
  }
  return mufftXtMakePlanMany(handle, rank, sizes, inembed ? in : nullptr, istride, idist, types.in, onembed ? out : nullptr,
                             ostride, odist, types.out, batch, bytes, types.in);
}

// Makes a handle and its plan; without a plan, the handle is given back.
template <class Make>
mufftResult planned(mufftHandle* handle, Make make) {
  if (const auto result = mufftCreate(handle)) return result;
  const auto result = make(*handle);
  if (result != MUFFT_SUCCESS) mufftDestroy(*handle);
  return result;
}

mufftResult run(mufftHandle handle, const void* in, void* out, int direction) {
  const auto plan = plan_of(handle);
  if (plan == nullptr || !plan->made) return MUFFT_INVALID_PLAN;
  if (in == nullptr || out == nullptr || (direction != MUFFT_FORWARD && direction != MUFFT_INVERSE)) return MUFFT_INVALID_VALUE;
  const Plan copy = *plan;
  return in_stream(plan->stream, [=] { execute(copy, in, out, direction); }) == musaSuccess ? MUFFT_SUCCESS : MUFFT_EXEC_FAILED;
}

mufftResult run_as(mufftHandle handle, mufftType type, const void* in, void* out, int direction) {
  const auto plan = plan_of(handle);
  Types types{};
  types_of(type, &types);
  if (plan != nullptr && plan->made && (plan->in.type != types.in || plan->out.type != types.out)) return MUFFT_INVALID_TYPE;
  return run(handle, in, out, direction);
}
}  // namespace

mufftResult mufftCreate(mufftHandle* handle) {
  if (handle == nullptr) return MUFFT_INVALID_VALUE;
  const std::lock_guard lock(mutex);
  *handle = next++;
  plans[*handle] = std::make_shared<Plan>();
  return MUFFT_SUCCESS;
}
mufftResult mufftDestroy(mufftHandle handle) {
  const std::lock_guard lock(mutex);
  return plans.erase(handle) ? MUFFT_SUCCESS : MUFFT_INVALID_PLAN;
}
mufftResult mufftGetVersion(int* version) {
  *version = MUSART_VERSION;
  return MUFFT_SUCCESS;
}
mufftResult mufftSetStream(mufftHandle handle, musaStream_t stream) {
  const auto plan = plan_of(handle);
  if (plan) plan->stream = stream;
  return plan ? MUFFT_SUCCESS : MUFFT_INVALID_PLAN;
}
// Nothing here needs room of the device's.
mufftResult mufftSetAutoAllocation(mufftHandle handle, int) {
  return plan_of(handle) ? MUFFT_SUCCESS : MUFFT_INVALID_PLAN;
}
mufftResult mufftSetWorkArea(mufftHandle handle, void*) {
  return plan_of(handle) ? MUFFT_SUCCESS : MUFFT_INVALID_PLAN;
}
mufftResult mufftGetSize(mufftHandle handle, size_t* bytes) {
  *bytes = 0;
  return plan_of(handle) ? MUFFT_SUCCESS : MUFFT_INVALID_PLAN;
}

mufftResult mufftMakePlan1d(mufftHandle handle, int nx, mufftType type, int batch, size_t* bytes) {
  return make(handle, 1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch, bytes);
}
mufftResult mufftMakePlan2d(mufftHandle handle, int nx, int ny, mufftType type, size_t* bytes) {
  const int n[] = {nx, ny};
  return make(handle, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
mufftResult mufftMakePlan3d(mufftHandle handle, int nx, int ny, int nz, mufftType type, size_t* bytes) {
  const int n[] = {nx, ny, nz};
  return make(handle, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
mufftResult mufftMakePlanMany(mufftHandle handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                              int ostride, int odist, mufftType type, int batch, size_t* bytes) {
  return make(handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, bytes);
}
mufftResult mufftPlan1d(mufftHandle* handle, int nx, mufftType type, int batch) {
  return planned(handle, [=](mufftHandle made) { return mufftMakePlan1d(made, nx, type, batch, nullptr); });
}
mufftResult mufftPlan2d(mufftHandle* handle, int nx, int ny, mufftType type) {
  return planned(handle, [=](mufftHandle made) { return mufftMakePlan2d(made, nx, ny, type, nullptr); });
}
mufftResult mufftPlan3d(mufftHandle* handle, int nx, int ny, int nz, mufftType type) {
  return planned(handle, [=](mufftHandle made) { return mufftMakePlan3d(made, nx, ny, nz, type, nullptr); });
}
mufftResult mufftPlanMany(mufftHandle* handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride,
                          int odist, mufftType type, int batch) {
  return planned(handle, [=](mufftHandle made) {
    return make(made, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, nullptr);
  });
}

mufftResult mufftXtExec(mufftHandle handle, void* in, void* out, int direction) {
  return run(handle, in, out, direction);
}
mufftResult mufftExecC2C(mufftHandle handle, mufftComplex* in, mufftComplex* out, int direction) {
  return run_as(handle, MUFFT_C2C, in, out, direction);
}
mufftResult mufftExecR2C(mufftHandle handle, mufftReal* in, mufftComplex* out) {
  return run_as(handle, MUFFT_R2C, in, out, MUFFT_FORWARD);
}
mufftResult mufftExecC2R(mufftHandle handle, mufftComplex* in, mufftReal* out) {
  return run_as(handle, MUFFT_C2R, in, out, MUFFT_INVERSE);
}
mufftResult mufftExecZ2Z(mufftHandle handle, mufftDoubleComplex* in, mufftDoubleComplex* out, int direction) {
  return run_as(handle, MUFFT_Z2Z, in, out, direction);
}
mufftResult mufftExecD2Z(mufftHandle handle, mufftDoubleReal* in, mufftDoubleComplex* out) {
  return run_as(handle, MUFFT_D2Z, in, out, MUFFT_FORWARD);
}
mufftResult mufftExecZ2D(mufftHandle handle, mufftDoubleComplex* in, mufftDoubleReal* out) {
  return run_as(handle, MUFFT_Z2D, in, out, MUFFT_INVERSE);
}
