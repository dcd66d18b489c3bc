#pragma once

#include "musa_bf16.h"
