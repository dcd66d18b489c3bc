// A header of the toolkit. Every kernel has these declarations anyway.
#pragma once

#include "musasim/device_functions.h"
