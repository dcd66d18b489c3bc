// A name of the toolkit for what every kernel finds declared anyway.
#pragma once

#include "musasim/device_functions.h"
