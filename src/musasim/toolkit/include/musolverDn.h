// What CUDA has in a header of its own is in musolver.h.
#pragma once

#include "musolver.h"
