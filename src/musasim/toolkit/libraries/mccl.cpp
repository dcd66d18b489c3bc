// One compiler run for libmccl.so.2: MCCL's C API over the simulated runtime. It knows nothing of PyTorch.
#include "mccl/api.cpp"
#include "mccl/communicator.cpp"
#include "mccl/kernel_name.cpp"
#include "mccl/rows.cpp"
#include "mccl/group.cpp"
#include "mccl/numbers.cpp"
#include "mccl/wire.cpp"
