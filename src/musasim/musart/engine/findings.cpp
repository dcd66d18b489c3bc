#include "findings.h"

#include "../ground/source_line.h"
#include "seed.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

namespace musart::memcheck {
namespace {

constexpr size_t kMostFindings = 100; // of a process

struct Finding {
  std::string text;
  const void* caller;
  const void* other; // of a race
  std::string place; // instead of `caller`
};
std::vector<Finding>& findings() {
  static auto* all = new std::vector<Finding>();
  return *all;
}
size_t g_found = 0;

void summarise() {
  std::fprintf(stderr, "musasim: memcheck: %zu %s found\n", g_found, g_found == 1 ? "fault" : "faults");
}

bool is_new(const char* kind, const void* caller, const std::string& place) {
  static auto* told = new std::set<std::pair<std::string, const void*>>();
  return g_found < kMostFindings && told->emplace(kind + place, caller).second;
}

void add(const CheckedThread& by, const char* kind, const std::string& what, Finding finding) {
  if (!is_new(kind, finding.caller, finding.place)) return;
  if (g_found++ == 0) std::atexit(summarise);
  const std::string who = "kernel " + std::string(checked_kernel()) + ", block " + block_text(by.block) + ", thread " + thread_text(by.number);
  finding.text = who + ": " + kind + ": " + what;
  findings().push_back(std::move(finding));
}

} // namespace

std::string thread_text(unsigned thread) {
  return text_of(position(thread, running_launch().launch->block));
}

std::string block_text(unsigned block) {
  return text_of(position(block, running_launch().launch->grid));
}

void found(const CheckedThread& by, const char* kind, const std::string& what, const void* caller, const void* other) {
  add(by, kind, what, {{}, caller, other, {}});
}

void found(const char* kind, const std::string& what, const void* caller) {
  CheckedThread by{};
  if (checked_thread(&by)) found(by, kind, what, caller);
}

void found_at(const CheckedThread& by, const char* kind, const std::string& what, const std::string& place) {
  add(by, kind, what, {{}, nullptr, nullptr, place});
}

void write_findings() {
  for (const auto& finding : findings()) {
    const std::string place = finding.caller == nullptr ? finding.place : line_of(finding.caller);
    const std::string other = finding.other == nullptr ? "" : "\n    and " + line_of(finding.other);
    std::fprintf(stderr, "musasim: memcheck: %s\n    at %s%s\n", finding.text.c_str(), place.c_str(), other.c_str());
  }
  if (!findings().empty()) tell_seed();
  findings().clear();
}

} // namespace musart::memcheck
