#pragma once

#include "thrust/detail/device_memory.h"
