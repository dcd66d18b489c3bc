// One compiler run for the process group `mccl`.
#include "mccl/error.cpp"

#include "mccl/agreement.cpp"
#include "mccl/elsewhere.cpp"
#include "mccl/flight_recorder.cpp"
#include "mccl/gloo.cpp"
#include "mccl/lane.cpp"
#include "mccl/point_to_point.cpp"
#include "mccl/process_group.cpp"
#include "mccl/settings.cpp"
#include "mccl/shared_block.cpp"
#include "mccl/signals.cpp"
#include "mccl/symmetric_memory.cpp"
#include "mccl/symmetric_operators.cpp"
#include "mccl/tensors.cpp"
#include "mccl/work.cpp"

#include "mccl/bindings.cpp"
