// One compiler run for the process group `mccl`.
#include "mccl/error.cpp"

#include "mccl/agreement.cpp"
#include "mccl/elsewhere.cpp"
#include "mccl/gloo.cpp"
#include "mccl/lane.cpp"
#include "mccl/point_to_point.cpp"
#include "mccl/process_group.cpp"
#include "mccl/settings.cpp"
#include "mccl/tensors.cpp"
#include "mccl/work.cpp"

#include "mccl/bindings.cpp"
