#pragma once

#include "cub/config.cuh"
#include "musasim/iterators.h"

CUB_NAMESPACE_BEGIN

using musasim::DiscardOutputIterator;

CUB_NAMESPACE_END
