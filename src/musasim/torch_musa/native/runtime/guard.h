#pragma once

namespace musasim {

void register_guard();

} // namespace musasim
