#pragma once

#include "cub/iterator/cache_modified_input_iterator.cuh"
