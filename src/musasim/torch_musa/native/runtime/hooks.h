#pragma once

namespace musasim {

void register_hooks();

} // namespace musasim
