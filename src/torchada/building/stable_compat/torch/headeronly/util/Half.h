// PyTorch 2.7 has this header under c10's name only; with the stable ABI, newer ones refuse that name.
#pragma once
#if __has_include_next(<torch/headeronly/util/Half.h>)
#include_next <torch/headeronly/util/Half.h>
#else
#include <c10/util/Half.h>
#endif
