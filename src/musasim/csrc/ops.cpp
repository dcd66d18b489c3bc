// One compiler run for everything that computes.
#include "ops/alias.cpp"
#include "ops/composites.cpp"
#include "ops/copy.cpp"
#include "ops/graph.cpp"
#include "ops/record.cpp"
#include "ops/shape.cpp"
#include "ops/signature.cpp"

// Last, because it fills in for the operators that have no kernel by then.
#include "ops/fallback.cpp"
