// musa::std: on the simulated device, the host's standard library is the device's.
#pragma once

namespace musa {
namespace std {
using namespace ::std;
}
}  // namespace musa
