// The runtime's types.
#pragma once

#include "musa_runtime_api.h"
