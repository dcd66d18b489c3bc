// The C functions of PyTorch's stable ABI for this device, as torch_musa has them in csrc/inductor/aoti_torch/shim_musa.cpp.
#include "torch_musa/csrc/core/MUSAGuard.h"
#include "torch_musa/csrc/core/MUSAStream.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch/version.h>

#include <dlfcn.h>

#include <map>

extern "C" {

// PyTorch's header declares CUDA's in builds for CUDA. Patched by torch_musa, it declares these.
struct MUSAGuardOpaque;
struct MUSAStreamGuardOpaque;
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_create_musa_guard(int32_t device, MUSAGuardOpaque** guard);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_delete_musa_guard(MUSAGuardOpaque* guard);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_musa_guard_set_index(MUSAGuardOpaque* guard, int32_t device);
AOTI_TORCH_EXPORT AOTITorchError
aoti_torch_create_musa_stream_guard(void* stream, int32_t device, MUSAStreamGuardOpaque** guard);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_delete_musa_stream_guard(MUSAStreamGuardOpaque* guard);
AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_current_musa_stream(int32_t device, void** stream);
AOTI_TORCH_EXPORT int32_t aoti_torch_device_type_musa();

AOTITorchError aoti_torch_create_musa_guard(int32_t device, MUSAGuardOpaque** guard) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE(
      { *guard = reinterpret_cast<MUSAGuardOpaque*>(new c10::musa::MUSAGuard(static_cast<c10::DeviceIndex>(device))); });
}

AOTITorchError aoti_torch_delete_musa_guard(MUSAGuardOpaque* guard) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ delete reinterpret_cast<c10::musa::MUSAGuard*>(guard); });
}

AOTITorchError aoti_torch_musa_guard_set_index(MUSAGuardOpaque* guard, int32_t device) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE(
      { reinterpret_cast<c10::musa::MUSAGuard*>(guard)->set_index(static_cast<c10::DeviceIndex>(device)); });
}

AOTITorchError aoti_torch_create_musa_stream_guard(void* stream, int32_t device, MUSAStreamGuardOpaque** guard) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    const auto given =
        c10::musa::getStreamFromExternal(static_cast<musaStream_t>(stream), static_cast<c10::DeviceIndex>(device));
    *guard = reinterpret_cast<MUSAStreamGuardOpaque*>(new c10::musa::MUSAStreamGuard(given));
  });
}

AOTITorchError aoti_torch_delete_musa_stream_guard(MUSAStreamGuardOpaque* guard) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ delete reinterpret_cast<c10::musa::MUSAStreamGuard*>(guard); });
}

AOTITorchError aoti_torch_get_current_musa_stream(int32_t device, void** stream) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE(
      { *stream = c10::musa::getCurrentMUSAStream(static_cast<c10::DeviceIndex>(device)).stream(); });
}

int32_t aoti_torch_device_type_musa() {
  return static_cast<int32_t>(c10::DeviceType::PrivateUse1);
}

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11 // torch_musa has these from its release for PyTorch 2.11 on

AOTI_TORCH_EXPORT AOTITorchError torch_get_current_musa_blas_handle(void** handle);
AOTI_TORCH_EXPORT AOTITorchError torch_set_current_musa_stream(void* stream, int32_t device);
AOTI_TORCH_EXPORT AOTITorchError torch_get_musa_stream_from_pool(bool high_priority, int32_t device, void** stream);
AOTI_TORCH_EXPORT AOTITorchError torch_musa_stream_synchronize(void* stream, int32_t device);

// muBLAS is a library of the toolkit, which an extension that calls it has loaded. A thread has a handle for each device, as in torch_musa.
AOTITorchError torch_get_current_musa_blas_handle(void** handle) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    void* const library = dlopen("libmublas.so", RTLD_LAZY | RTLD_NOLOAD);
    TORCH_CHECK(library != nullptr, "libmublas.so is not loaded: link the extension against it");
    const auto create = reinterpret_cast<int (*)(void**)>(dlsym(library, "mublasCreate"));
    const auto set_stream = reinterpret_cast<int (*)(void*, musaStream_t)>(dlsym(library, "mublasSetStream"));
    thread_local std::map<c10::DeviceIndex, void*> handles;
    auto& found = handles[c10::musa::current_device()];
    TORCH_CHECK(found != nullptr || create(&found) == 0, "mublasCreate failed");
    TORCH_CHECK(set_stream(found, c10::musa::getCurrentMUSAStream().stream()) == 0, "mublasSetStream failed");
    *handle = found;
  });
}

AOTITorchError torch_set_current_musa_stream(void* stream, int32_t device) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    c10::musa::setCurrentMUSAStream(
        c10::musa::getStreamFromExternal(static_cast<musaStream_t>(stream), static_cast<c10::DeviceIndex>(device)));
  });
}

AOTITorchError torch_get_musa_stream_from_pool(bool high_priority, int32_t device, void** stream) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE(
      { *stream = c10::musa::getStreamFromPool(high_priority, static_cast<c10::DeviceIndex>(device)).stream(); });
}

AOTITorchError torch_musa_stream_synchronize(void* stream, int32_t device) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    c10::musa::getStreamFromExternal(static_cast<musaStream_t>(stream), static_cast<c10::DeviceIndex>(device)).synchronize();
  });
}

#endif

} // extern "C"
