#pragma once

#include "musa_fp16.h"
