#pragma once

// PyTorch 2.7.1's wheels ship Kineto's headers without fmt, which these use for metadata. This is the part of it that they use:
// "{}" for each value in turn. The compiler looks here last, so the true fmt wins.

#include <sstream>
#include <string>
#include <string_view>

namespace fmt {

inline std::string format(std::string_view pattern) {
  return std::string(pattern);
}

template <typename First, typename... Rest>
std::string format(std::string_view pattern, const First& first, const Rest&... rest) {
  const auto place = pattern.find("{}");
  if (place == std::string_view::npos) {
    return std::string(pattern);
  }
  std::ostringstream text;
  text << pattern.substr(0, place) << first << format(pattern.substr(place + 2), rest...);
  return text.str();
}

} // namespace fmt
