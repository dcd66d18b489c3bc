#pragma once

#include "torch_musa/csrc/core/MUSAException.h"
