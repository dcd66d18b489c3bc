#pragma once

#include "torch_musa/csrc/core/MUSAGuard.h"
