// Handles of the toolkit's libraries, for extensions: torch_musa/csrc/aten/musa/MUSAContextLight.h.
#include "../runtime/device.h"
#include "../runtime/stream.h"

#include <c10/musa/MUSAMacros.h>
#include <c10/util/Exception.h>

#include <dlfcn.h>

#include <map>
#include <string>
#include <utility>

namespace musasim {
namespace {

// The simulator links none of the libraries. An extension that uses a handle does, and they are found by these names then.
struct ToolkitLibrary {
  const char* file;
  const char* create;
  const char* set_stream; // null for a library whose calls name their stream
};

template <typename Function>
Function* function_of(const ToolkitLibrary& library, const char* name) {
  void* loaded = dlopen(library.file, RTLD_LAZY);
  void* found = loaded == nullptr ? nullptr : dlsym(loaded, name);
  TORCH_CHECK(found != nullptr, "There is no handle of ", library.file, ": ", dlerror());
  return reinterpret_cast<Function*>(found);
}

// One for each thread, device and library, for the stream that is current on the device.
void* current_handle(const ToolkitLibrary& library) {
  thread_local std::map<std::pair<std::string, c10::DeviceIndex>, void*> handles;
  const auto device = current_device();
  void*& handle = handles[{library.file, device}];
  if (handle == nullptr) {
    const int error = function_of<int(void**)>(library, library.create)(&handle);
    TORCH_CHECK(error == 0, library.create, " fails with error ", error);
  }
  if (library.set_stream != nullptr) {
    function_of<int(void*, void*)>(library, library.set_stream)(handle, stream_handle(current_stream(device)));
  }
  return handle;
}

} // namespace
} // namespace musasim

// The libraries' types are in their headers, which are the toolkit's; a handle is a pointer.
namespace at::musa {

C10_MUSA_API void* getCurrentMUSABlasHandle();
C10_MUSA_API void* getCurrentMUSABlasLtHandle();
C10_MUSA_API void* getCurrentCUDASparseHandle();

void* getCurrentMUSABlasHandle() {
  return musasim::current_handle({"libmublas.so", "mublasCreate", "mublasSetStream"});
}

void* getCurrentMUSABlasLtHandle() {
  return musasim::current_handle({"libmublasLt.so", "mublasLtCreate", nullptr});
}

void* getCurrentCUDASparseHandle() {
  return musasim::current_handle({"libmusparse.so", "musparseCreate", "musparseSetStream"});
}

} // namespace at::musa
