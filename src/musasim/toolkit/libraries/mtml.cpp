// One compiler run for libmtml.so.2, the management library: it sees every device of the machine. What a simulated device does not
// have (temperature, power, fans, a serial number, codecs, links) is "not supported". Memory and utilization are the process's own.
#include "mtml/library.cpp"
#include "mtml/device.cpp"
#include "mtml/parts.cpp"
#include "mtml/topology.cpp"
#include "mtml/not_supported.cpp"
