// The driver's API: what programs take from this header besides its functions, which the simulated toolkit has few of.
#pragma once

#ifndef MUSA_VERSION
#define MUSA_VERSION 50100
#endif

#include "musa_runtime_api.h"
