#include "stream_findings.h"

#include "../ground/source_line.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace musart::streamcheck {

std::string (*program_place)() = nullptr;

namespace {

constexpr size_t kMostFindings = 100; // of a process

struct Work {
  std::string name;
  Spot spot;
};

struct Sites {
  std::vector<Work> all;
  std::map<std::pair<std::string, Spot>, Site> known;
};
Sites& sites() {
  static auto* one = new Sites();
  return *one;
}
size_t g_found = 0;

void summarise() {
  std::fprintf(stderr, "musasim: streamcheck: %zu %s found\n", g_found, g_found == 1 ? "fault" : "faults");
}

std::string text_of_spot(const Spot& spot) {
  return spot.line.empty() ? line_of(spot.caller) : spot.line;
}

std::string name_of(const Stream& stream) {
  const bool is_default = &stream == &default_stream(stream.device);
  const std::string name = is_default ? "the default stream" : "stream " + std::to_string(stream.number);
  return name + " of device " + std::to_string(stream.device);
}

void tell(const std::string& text, const Spot& spot, const Spot& other) {
  static auto* told = new std::set<std::tuple<std::string, Spot, Spot>>();
  if (g_found >= kMostFindings || !told->emplace(text, spot, other).second) return;
  if (g_found++ == 0) std::atexit(summarise);
  std::fprintf(stderr, "musasim: streamcheck: %s\n    at %s\n    and %s\n", text.c_str(), text_of_spot(spot).c_str(),
      text_of_spot(other).c_str());
}

} // namespace

Spot spot_of_program() {
  std::string line = program_place == nullptr ? "" : program_place();
  const void* caller = line.empty() ? caller_outside() : nullptr;
  return {std::move(line), caller};
}

Site site_of(const char* name, const Stream& stream, const Spot& spot) {
  Work work{std::string(name) + " on " + name_of(stream), spot};
  const auto [at, is_new] = sites().known.try_emplace({work.name, work.spot}, static_cast<Site>(sites().all.size()));
  if (is_new) sites().all.push_back(std::move(work));
  return at->second;
}

std::string text_of_site(Site site) {
  return sites().all[site].name;
}

void found_race(Site site, Site other, const std::string& what) {
  const auto& work = sites().all[site];
  tell(work.name + ": race between streams: " + what, work.spot, sites().all[other].spot);
}

void found_on_host(const Spot& spot, const char* kind, Site other, const std::string& what) {
  tell(std::string("the host: ") + kind + ": " + what, spot, sites().all[other].spot);
}

} // namespace musart::streamcheck
