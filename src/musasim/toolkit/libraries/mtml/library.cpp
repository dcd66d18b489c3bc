// The library itself, the system, and how a device is found.
#include "devices.h"

#include "../../../musart/include/musa_runtime_api.h"

namespace mtml {
namespace {

MtmlReturn find(std::string (*of)(int index), const char* text, MtmlDevice** device) {
  for (int index = 0; index < count(); ++index) {
    if (of(index) == text) {
      *device = &g_devices[static_cast<size_t>(index)];
      return MTML_SUCCESS;
    }
  }
  return MTML_ERROR_NOT_FOUND;
}

} // namespace
} // namespace mtml

using namespace mtml;

#pragma GCC visibility push(default)
extern "C" {

MtmlReturn mtmlLibraryInit(MtmlLibrary** library) {
  if (library == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  ++g_open;
  *library = &g_library;
  return MTML_SUCCESS;
}

MtmlReturn mtmlLibraryShutDown(MtmlLibrary* library) {
  if (!is_open(library)) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  --g_open;
  return MTML_SUCCESS;
}

const char* mtmlErrorString(MtmlReturn result) {
  switch (result) {
    case MTML_SUCCESS:
      return "Success";
    case MTML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case MTML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case MTML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case MTML_ERROR_NOT_FOUND:
      return "Not Found";
  }
  return "Unknown Error";
}

MtmlReturn mtmlLibraryGetVersion(const MtmlLibrary* library, char* version, unsigned int length) {
  return is_open(library) ? write("2.0.0-musasim", version, length) : MTML_ERROR_INVALID_ARGUMENT;
}

MtmlReturn mtmlLibraryCountDevice(const MtmlLibrary* library, unsigned int* number) {
  if (!is_open(library) || number == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  *number = static_cast<unsigned int>(count());
  return MTML_SUCCESS;
}

MtmlReturn mtmlLibraryInitDeviceByIndex(const MtmlLibrary* library, unsigned int index, MtmlDevice** device) {
  if (!is_open(library) || device == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  if (index >= static_cast<unsigned int>(count())) {
    return MTML_ERROR_NOT_FOUND;
  }
  *device = &g_devices[index];
  return MTML_SUCCESS;
}

MtmlReturn mtmlLibraryInitDeviceByUuid(const MtmlLibrary* library, const char* uuid, MtmlDevice** device) {
  const bool is_valid = is_open(library) && uuid != nullptr && device != nullptr;
  return is_valid ? find(identity, uuid, device) : MTML_ERROR_INVALID_ARGUMENT;
}

MtmlReturn mtmlLibraryInitDeviceByPciSbdf(const MtmlLibrary* library, const char* sbdf, MtmlDevice** device) {
  const bool is_valid = is_open(library) && sbdf != nullptr && device != nullptr;
  return is_valid ? find(address, sbdf, device) : MTML_ERROR_INVALID_ARGUMENT;
}

MtmlReturn mtmlLibraryFreeDevice(MtmlDevice* device) {
  return index_of(device) < 0 ? MTML_ERROR_INVALID_ARGUMENT : MTML_SUCCESS;
}

MtmlReturn mtmlLibraryInitSystem(const MtmlLibrary* library, MtmlSystem** system) {
  if (!is_open(library) || system == nullptr) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  *system = &g_system;
  return MTML_SUCCESS;
}

MtmlReturn mtmlLibraryFreeSystem(MtmlSystem* system) {
  return system == &g_system ? MTML_SUCCESS : MTML_ERROR_INVALID_ARGUMENT;
}

MtmlReturn mtmlSystemGetDriverVersion(const MtmlSystem* system, char* version, unsigned int length) {
  if (system != &g_system) {
    return MTML_ERROR_INVALID_ARGUMENT;
  }
  char text[32];
  std::snprintf(
      text, sizeof(text), "%d.%d.%d-musasim", MUSART_VERSION / 10000, MUSART_VERSION / 100 % 100, MUSART_VERSION % 100);
  return write(text, version, length);
}

} // extern "C"
#pragma GCC visibility pop
