// Calls between mcclGroupStart and mcclGroupEnd, which are done together.
#pragma once

#include "communicator.h"

#include <memory>

namespace musasim::libmccl {

using Member = std::shared_ptr<Communicator>;

void begin_group();
mcclResult_t end_group();

// Inside a group these wait for its end, and otherwise they are done now.
mcclResult_t join(const Member& member);
mcclResult_t submit(const Member& member, const Operation& operation);

} // namespace musasim::libmccl
