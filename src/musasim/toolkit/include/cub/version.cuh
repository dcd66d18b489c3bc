// These headers follow the CUB of CUDA 11.7, as MUSA's runtime does.
#pragma once

#define CUB_VERSION 101702
#define CUB_MAJOR_VERSION 1
#define CUB_MINOR_VERSION 17
#define CUB_SUBMINOR_VERSION 2
