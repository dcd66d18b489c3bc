#pragma once

#include "thrust/iterator/iterators.h"
