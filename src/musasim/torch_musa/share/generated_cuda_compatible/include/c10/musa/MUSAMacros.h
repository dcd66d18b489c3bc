#pragma once

#include "torch_musa/csrc/core/MUSAMacros.h"
