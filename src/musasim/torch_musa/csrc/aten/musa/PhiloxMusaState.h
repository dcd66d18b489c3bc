#pragma once

#include <cstdint>

#include "torch_musa/csrc/aten/musa/PhiloxMusaStateRaw.muh"
