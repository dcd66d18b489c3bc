// The types of numbers, and how the numbers of several ranks become one.
#pragma once

#include "mccl.h"

#include <cstddef>
#include <vector>

namespace musasim::libmccl {

size_t size_of(mcclDataType_t type); // in bytes; 0 if there is no such type

// Whether numbers of the type can be reduced by the operation. Those of eight bits with a point are only moved.
bool can_reduce(mcclDataType_t type, mcclRedOp_t op);

// Multiplies `count` numbers by the one at `factor`, and rounds them to their type.
void multiply(mcclDataType_t type, const void* factor, const void* from, void* into, size_t count);

// Reduces `count` numbers of each part, in the order of the parts, so that every rank gets the same bits. `into` may be one of the parts.
void reduce(mcclDataType_t type, mcclRedOp_t op, const std::vector<const void*>& parts, void* into, size_t count);

} // namespace musasim::libmccl
