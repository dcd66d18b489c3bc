// torch_musa 2.7.1 is for a toolkit that does not have this function, and declares one of its own; with both, calls are ambiguous.
#pragma once

#define musaThreadExchangeStreamCaptureMode musaThreadExchangeStreamCaptureModeOfLaterToolkits
#include_next <musa_runtime_api.h>
#undef musaThreadExchangeStreamCaptureMode
