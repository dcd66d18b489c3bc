// The simulated driver, which the runtime API and the PyTorch backend share. It knows nothing of PyTorch, so that a program
// linked only against libmusart.so starts without it. Nothing here throws, and nothing is ever destroyed, because objects of
// Python and of other libraries may outlive static destruction.
#pragma once

#include "driver/device.h"
#include "driver/memory.h"
#include "driver/memory_pool.h"
#include "driver/protected_memory.h"
#include "driver/reservation.h"
#include "driver/host_memory.h"
#include "driver/stream.h"
#include "driver/elsewhere.h"
#include "driver/capture.h"
#include "driver/event.h"
#include "driver/graph.h"
#include "driver/launch_watcher.h"
#include "driver/streamcheck.h"
#include "ground/environment.h"
