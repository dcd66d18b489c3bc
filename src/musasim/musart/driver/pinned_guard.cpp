#include "pinned_guard.h"

#include "../ground/on_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

namespace musart::streamcheck {
namespace {

constexpr uintptr_t kHostPage = 4096;
thread_local int t_as_device = 0;

struct Guarded {
  uintptr_t begin, end;
  Moment work;
  Site site;
  bool device_writes; // otherwise it reads, and so may the host
  bool reached = false; // a device has reached its pages: they are open until its work is done

  uintptr_t first_page() const {
    return begin / kHostPage * kHostPage;
  }
  uintptr_t end_of_pages() const {
    return (end + kHostPage - 1) / kHostPage * kHostPage;
  }
  bool has_page_of(uintptr_t address) const {
    return first_page() <= address && address < end_of_pages();
  }
  bool shares_page_with(const Guarded& other) const {
    return first_page() < other.end_of_pages() && other.first_page() < end_of_pages();
  }
};

std::vector<Guarded>& guarded() {
  static auto* all = new std::vector<Guarded>();
  return *all;
}

void protect(const Guarded& range, int how) {
  mprotect(reinterpret_cast<void*>(range.first_page()), range.end_of_pages() - range.first_page(), how);
}

// Of several on a page, the strictest counts.
void protect_all_near(const Guarded& range) {
  for (const bool writes : {false, true}) {
    for (const auto& other : guarded()) {
      const bool counts = other.device_writes == writes && !other.reached && other.shares_page_with(range);
      if (counts) protect(other, writes ? PROT_NONE : PROT_READ);
    }
  }
}

template <typename Condition>
void open_if(Condition is_finished) {
  auto& all = guarded();
  const auto first = std::stable_partition(all.begin(), all.end(), [&](const Guarded& range) { return !is_finished(range); });
  const std::vector<Guarded> finished(first, all.end());
  all.erase(first, all.end());
  for (const auto& range : finished) protect(range, PROT_READ | PROT_WRITE);
  for (const auto& range : finished) protect_all_near(range);
}

void protect_again() {
  for (auto& range : guarded()) {
    if (std::exchange(range.reached, false)) protect_all_near(range);
  }
}

void tell(const Guarded& range, const Spot& spot) {
  const std::string by = text_of_site(range.site);
  if (range.device_writes) found_on_host(spot, "use before synchronisation", range.site, "of memory that " + by + " writes");
  else found_on_host(spot, "write before synchronisation", range.site, "to memory that " + by + " reads");
}

void make_reachable(Guarded& range) {
  range.reached = true;
  protect(range, PROT_READ | PROT_WRITE);
}

struct sigaction g_before; // the handler of the program

void on_bad_address(int number, siginfo_t* information, void*) {
  if (!reach_pinned(information->si_addr)) sigaction(number, &g_before, nullptr); // which gets it when it comes again
}

// A program may have set another handler since.
void catch_bad_addresses() {
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bad_address) return;
  g_before = now;
  struct sigaction ours = {};
  ours.sa_sigaction = on_bad_address;
  ours.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &ours, nullptr);
}

} // namespace

AsDevice::AsDevice(const void* begin, size_t bytes) {
  ++t_as_device;
  if (bytes == 0 || !enabled()) return;
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  const auto start = reinterpret_cast<uintptr_t>(begin);
  const Guarded wanted{start, start + bytes, {}, 0, false};
  for (auto& range : guarded()) {
    if (range.shares_page_with(wanted)) make_reachable(range);
  }
}

AsDevice::~AsDevice() {
  if (--t_as_device != 0 || !enabled()) return;
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  protect_again();
}

void guard_pinned(const void* begin, size_t bytes, const Moment& work, Site site, bool device_writes) {
  catch_bad_addresses();
  const auto start = reinterpret_cast<uintptr_t>(begin);
  guarded().push_back({start, start + bytes, work, site, device_writes});
  protect_all_near(Guarded(guarded().back()));
}

void open_finished_pinned() {
  open_if([](const Guarded& range) { return is_over(range.work, known_to_host()); });
}

void open_pinned(const void* begin, size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(begin);
  open_if([&](const Guarded& range) { return range.begin < start + bytes && start < range.end; });
}

bool reach_pinned(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const bool by_device = t_as_device != 0 || on_device();
  const Spot spot = by_device ? Spot{} : spot_of_program();
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  bool known = false;
  for (auto& range : guarded()) {
    if (!range.has_page_of(at)) continue;
    known = true;
    const bool inside = range.begin <= at && at < range.end;
    if (!by_device && inside) tell(range, spot);
    make_reachable(range);
  }
  return known;
}

} // namespace musart::streamcheck
