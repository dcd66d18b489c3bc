// What CUDA has in a header of its own is in mublas.h.
#pragma once

#include "mublas.h"
