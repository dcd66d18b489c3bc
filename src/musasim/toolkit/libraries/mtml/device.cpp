// What a device is called.
#include "devices.h"

namespace mtml {
namespace {

constexpr unsigned kVendorId = 0x1ED5;

} // namespace
} // namespace mtml

using namespace mtml;

#pragma GCC visibility push(default)
extern "C" {

MtmlReturn mtmlDeviceGetIndex(const MtmlDevice* device, unsigned int* index) {
  return answer<MtmlDevice, unsigned int>(device, index, [](int number) { return static_cast<unsigned int>(number); });
}

MtmlReturn mtmlDeviceGetUUID(const MtmlDevice* device, char* uuid, unsigned int length) {
  return write(device, uuid, length, identity);
}

MtmlReturn mtmlDeviceGetName(const MtmlDevice* device, char* name, unsigned int length) {
  return write(device, name, length, [](int) { return musart::device_properties().name; });
}

MtmlReturn mtmlDeviceGetBrand(const MtmlDevice* device, MtmlBrandType* brand) {
  return answer<MtmlDevice, MtmlBrandType>(device, brand, [](int) { return MTML_BRAND_MTT; });
}

MtmlReturn mtmlDeviceGetPciInfo(const MtmlDevice* device, MtmlPciInfo* info) {
  return answer<MtmlDevice, MtmlPciInfo>(device, info, [](int index) {
    MtmlPciInfo made{};
    write(address(index), made.sbdf, sizeof(made.sbdf));
    made.bus = static_cast<unsigned int>(bus(index));
    made.pciDeviceId = kVendorId;
    return made;
  });
}

MtmlReturn mtmlDeviceGetProperty(const MtmlDevice* device, MtmlDeviceProperty* property) {
  return answer<MtmlDevice, MtmlDeviceProperty>(device, property, [](int) { return MtmlDeviceProperty{}; });
}

MtmlReturn mtmlDeviceCountFan(const MtmlDevice* device, unsigned int* number) {
  return answer<MtmlDevice, unsigned int>(device, number, [](int) { return 0u; });
}

} // extern "C"
#pragma GCC visibility pop
