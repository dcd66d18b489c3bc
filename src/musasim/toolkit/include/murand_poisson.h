#pragma once

#include "murand_kernel.h"
