// PyTorch 2.7 has this header under c10's name only; with the stable ABI, newer ones refuse that name.
#pragma once
#if __has_include_next(<torch/headeronly/util/Float8_e5m2fnuz.h>)
#include_next <torch/headeronly/util/Float8_e5m2fnuz.h>
#else
#include <c10/util/Float8_e5m2fnuz.h>
#endif
