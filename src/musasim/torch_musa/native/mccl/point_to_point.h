#pragma once

#include "agreement.h"

#include <string>

namespace musasim::mccl {

// One message between two ranks. A description precedes it, so that a receiver that expects something else reports it.
// Messages between two ranks keep their order. Tags have no meaning, as in NCCL.
void send_message(Gloo& gloo, const at::Tensor& tensor, int to, Deadline deadline);
void receive_message(Gloo& gloo, const std::string& group, const at::Tensor& tensor, int from, Deadline deadline);

} // namespace musasim::mccl
