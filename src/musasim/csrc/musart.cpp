// One compiler run for libmusart.so: the simulated driver and the MUSA runtime API over it. It knows nothing of PyTorch.
#define MUSASIM_ENGINE_ITSELF
#include "musart/error.cpp"

#include "musart/block.cpp"
#include "musart/capture.cpp"
#include "musart/device.cpp"
#include "musart/fiber.cpp"
#include "musart/event.cpp"
#include "musart/graph.cpp"
#include "musart/host_memory.cpp"
#include "musart/ipc.cpp"
#include "musart/launch.cpp"
#include "musart/memory.cpp"
#include "musart/pitched.cpp"
#include "musart/properties.cpp"
#include "musart/stream.cpp"
#include "musart/symbol.cpp"
#include "musart/transfer.cpp"
