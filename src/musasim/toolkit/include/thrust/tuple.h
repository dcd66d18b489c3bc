// Tuples and pairs: the standard library's.
#pragma once

#include <tuple>
#include <utility>

#include "thrust/version.h"

namespace thrust {
using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
}  // namespace thrust
