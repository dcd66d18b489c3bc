// One compiler run for the Python module.
#include "python/comm.cpp"
#include "python/device.cpp"
#include "python/graph.cpp"
#include "python/memory.cpp"
#include "python/module.cpp"
#include "python/musart.cpp"
#include "python/stream.cpp"
#include "python/tensor.cpp"
