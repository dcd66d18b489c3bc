#pragma once

#include "thrust/detail/algorithms.h"
