// threadIdx and the like.
#pragma once

#include "musa_runtime.h"
