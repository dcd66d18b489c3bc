// The rows of collectives in a profile.
#pragma once

#include "group.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace musasim::libmccl {

struct Row {
  int device;
  musaStream_t stream;
  std::string kernel;
};

// The kernels that do the operations of a group: one for the collectives of each communicator, named after the first of them, and one
// for its messages. A rank that is alone needs none.
std::vector<Row> rows_of(const std::vector<std::pair<Member, Operation>>& submitted);

// Does the work as these kernels, which begin and end together.
void run_as(const std::vector<Row>& rows, const std::function<void()>& work);

} // namespace musasim::libmccl
