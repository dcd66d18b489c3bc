#pragma once

// Some of PyTorch's wheels ship Kineto's headers without this one, which IActivityProfiler.h includes. It takes the type by
// reference only. The compiler looks here last, so a header that is there wins.

namespace libkineto {
class Config;
}
