#include "streamcheck.h"

#include "postponed.h"
#include "stream_findings.h"

#include <algorithm>
#include <functional>
#include <map>

namespace musart::streamcheck {
namespace {

struct Use { // the last one of its stream
  Moment work;
  Site site = 0;
  bool before_reuse = false; // of a tensor that is gone
};

// The uses of a piece of memory since it was last written in an order that is known.
struct Uses {
  Use write;
  std::vector<Use> reads, atomics; // one of each stream
};

struct Piece {
  uintptr_t end = 0;
  Uses uses;
};

using Pieces = std::map<uintptr_t, Piece>; // by where they begin
Pieces& pieces() {
  static auto* all = new Pieces();
  return *all;
}

// The piece that begins at `at` from now on, or the first one behind it.
Pieces::iterator cut(uintptr_t at) {
  auto& all = pieces();
  const auto behind = all.lower_bound(at);
  if (behind == all.begin()) return behind;
  auto& [start, before] = *std::prev(behind);
  if (before.end <= at) return behind;
  const auto rest = all.emplace_hint(behind, at, Piece{before.end, before.uses});
  before.end = at;
  return rest;
}

// Calls `act` for each piece of the range, those that nobody has used yet included.
template <typename Act>
void for_pieces(uintptr_t begin, uintptr_t end, Act act) {
  auto& all = pieces();
  cut(end);
  auto at = cut(begin);
  while (begin < end) {
    if (at == all.end() || at->first > begin) {
      const auto next = at == all.end() ? end : std::min(end, at->first);
      at = all.emplace_hint(at, begin, Piece{next, {}});
    }
    act(at->second.uses);
    begin = at->second.end;
    ++at;
  }
}

template <typename Act>
void for_known_pieces(uintptr_t begin, uintptr_t end, Act act) {
  cut(end);
  for (auto at = cut(begin); at != pieces().end() && at->first < end; ++at) act(at->second.uses);
}

// --- what orders them ------------------------------------------------------------------------------------------------------------

const Use* unordered(const std::vector<Use>& uses, const Known& known) {
  const auto at = std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return !is_over(use.work, known); });
  return at == uses.end() ? nullptr : &*at;
}

struct Conflict {
  const Use* with = nullptr;
  Kind kind = Kind::Read; // of the other use
};

Conflict conflict_of(const Uses& uses, Kind kind, const Known& known) {
  if (!is_over(uses.write.work, known)) return {&uses.write, Kind::Write};
  if (const auto* atomic = kind == Kind::Atomic ? nullptr : unordered(uses.atomics, known)) return {atomic, Kind::Atomic};
  if (const auto* read = kind == Kind::Read ? nullptr : unordered(uses.reads, known)) return {read, Kind::Read};
  return {};
}

const char* verb_of(Kind kind) {
  return kind == Kind::Read ? "reads" : kind == Kind::Write ? "writes" : "changes by an atomic function";
}

void tell(Site site, Kind kind, const Conflict& conflict) {
  const std::string other = text_of_site(conflict.with->site);
  const std::string gone = conflict.with->before_reuse ? ", of a tensor that is gone: record_stream was not called" : "";
  found_race(site, conflict.with->site,
      std::string("it ") + verb_of(kind) + " what " + other + " " + verb_of(conflict.kind) + gone + "; nothing orders them");
}

void keep(std::vector<Use>& uses, const Use& now) {
  const auto same = [&](const Use& use) { return use.work.stream == now.work.stream; };
  const auto at = std::find_if(uses.begin(), uses.end(), same);
  if (at == uses.end()) uses.push_back(now);
  else *at = now;
}

void keep(Uses& uses, Kind kind, const Use& now) {
  if (kind == Kind::Write) uses = {now, {}, {}};
  else keep(kind == Kind::Read ? uses.reads : uses.atomics, now);
}

// A whole range that is written is one piece again.
void join(uintptr_t begin, uintptr_t end) {
  auto& all = pieces();
  const auto first = all.find(begin);
  all.erase(std::next(first), all.lower_bound(end));
  first->second.end = end;
}

void add(const Access& access, const Known& known, const Use& now) {
  const auto begin = reinterpret_cast<uintptr_t>(access.begin);
  for_pieces(begin, begin + access.bytes, [&](Uses& uses) {
    if (const auto conflict = conflict_of(uses, access.kind, known); conflict.with != nullptr) tell(now.site, access.kind, conflict);
    keep(uses, access.kind, now);
  });
  if (access.kind == Kind::Write) join(begin, begin + access.bytes);
}

void drop(std::vector<Use>& uses, int stream) {
  uses.erase(std::remove_if(uses.begin(), uses.end(), [&](const Use& use) { return use.work.stream == stream; }), uses.end());
}

} // namespace

void did(Stream& stream, const char* name, const std::vector<Access>& accesses) {
  if (!enabled()) return;
  const Spot spot = spot_of_program();
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  const Moment work = begin_work(stream);
  for (const auto& access : accesses) {
    if (access.bytes == 0) continue;
    const Site site = site_of(name, stream, access.caller == nullptr ? spot : Spot{"", access.caller});
    add(access, stream.known, {work, site});
    if (access.pinned) guard_pinned(access.begin, access.bytes, work, site, access.kind != Kind::Read);
  }
}

namespace {

void host_comes_to_know(const std::function<void()>& add) {
  Known known;
  {
    const std::lock_guard<std::recursive_mutex> lock(order_lock());
    add();
    known = known_to_host();
    if (enabled()) open_finished_pinned();
  }
  if (postponed::any()) postponed::run_in(known);
}

} // namespace

void host_knows(const Known& known) {
  if (!is_order_kept()) return;
  host_comes_to_know([&] { host_learns(known); });
}

void host_waited_for(Stream& stream) {
  if (!is_order_kept()) return;
  Known known;
  record_known(known, stream);
  host_knows(known);
}

void host_waited_for(const Event& event) {
  host_knows(event.known);
}

void host_waited_for_device(int device) {
  if (!is_order_kept()) return;
  host_comes_to_know([&] { host_learns_all_of(device); });
}

void stream_follows(Stream& stream, Stream& other) {
  if (!is_order_kept()) return;
  Known known;
  record_known(known, other);
  stream_learns(stream, known);
}

void forget(const void* begin, size_t bytes) {
  if (!enabled()) return;
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  const auto start = reinterpret_cast<uintptr_t>(begin);
  const auto end = cut(start + bytes);
  pieces().erase(cut(start), end);
  open_pinned(begin, bytes);
}

void forget_work_of(const Stream& stream, const void* begin, size_t bytes) {
  if (!enabled()) return;
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  const auto start = reinterpret_cast<uintptr_t>(begin);
  for_known_pieces(start, start + bytes, [&](Uses& uses) {
    if (uses.write.work.stream == stream.number) uses.write = {};
    drop(uses.reads, stream.number);
    drop(uses.atomics, stream.number);
  });
}

void is_used_again(const void* begin, size_t bytes) {
  if (!enabled()) return;
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  const auto start = reinterpret_cast<uintptr_t>(begin);
  for_known_pieces(start, start + bytes, [](Uses& uses) {
    uses.write.before_reuse = true;
    for (auto* all : {&uses.reads, &uses.atomics}) {
      for (auto& use : *all) use.before_reuse = true;
    }
  });
}

} // namespace musart::streamcheck
