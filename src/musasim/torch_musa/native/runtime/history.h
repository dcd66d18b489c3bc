#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace musasim {

// Where a program was when something happened to its memory: frames of Python, TorchScript and, if asked for, C++.
using Context = std::shared_ptr<c10::GatheredContext>;

// The events for which frames are gathered. Each level includes those before it.
enum class Gather {
  Never,
  State, // what is allocated at the moment
  Alloc, // each allocation of the history
  All, // each release as well
};

struct HistorySettings {
  bool enabled = false;
  Gather when = Gather::Never;
  bool with_cpp = false;
  size_t max_entries = 1;
  bool clears = false;
  std::vector<std::string> skipped; // actions without entries
};

// A named region of the program (record_function), entered ("START") or left ("END").
struct Annotation {
  std::string name;
  const char* stage;
  c10::DeviceIndex device;
  int64_t time_us;
};

void set_history(const HistorySettings& settings);
bool history_enabled();
size_t history_limit();
bool is_skipped(const char* action);

// The program's own words for what it allocates from now on.
void set_memory_metadata(std::string text);
std::string memory_metadata();

// Frames of the caller, or null if such an event has none. It may take the GIL, so no lock may be held.
Context gather_context(Gather event);
// What an entry of the history keeps of them.
Context for_history(Context context);

std::vector<Annotation> annotations();
int64_t unix_time_us();

} // namespace musasim
