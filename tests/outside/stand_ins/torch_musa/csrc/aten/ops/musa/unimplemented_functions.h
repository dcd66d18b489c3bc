// torch_musa 2.7.1 declares here what its toolkit lacks. Later ones, as the simulated one, have this function, and with both, calls are
// ambiguous.
#pragma once

#include <musa_runtime_api.h>

#define musaThreadExchangeStreamCaptureMode musaThreadExchangeStreamCaptureModeOfEarlierToolkits
#include_next "torch_musa/csrc/aten/ops/musa/unimplemented_functions.h"
#undef musaThreadExchangeStreamCaptureMode
