#pragma once

#define C10_MUSA_EXPORT __attribute__((visibility("default")))
#define C10_MUSA_IMPORT C10_MUSA_EXPORT
#define C10_MUSA_API C10_MUSA_EXPORT

#define C10_COMPILE_TIME_MAX_MUSA_GPUS 64
