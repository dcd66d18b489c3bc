#pragma once

namespace musasim {

// Registers the operators that the simulated release has added to those of 2.7.1. Called once, when the release is known.
void register_later_operators();

} // namespace musasim
