#pragma once

#include "cub/config.cuh"
#include "musasim/iterators.h"

CUB_NAMESPACE_BEGIN

using musasim::ConstantInputIterator;

CUB_NAMESPACE_END
