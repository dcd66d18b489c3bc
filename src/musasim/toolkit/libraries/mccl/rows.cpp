#include "rows.h"

#include "kernel_name.h"
#include "on_device.h"

#include <set>

namespace musasim::libmccl {
namespace {

void run_from(const std::vector<Row>& rows, size_t first, const std::function<void()>& work) {
  if (first == rows.size()) {
    work();
    return;
  }
  const std::function<void()> rest = [&] { run_from(rows, first + 1, work); };
  const auto run = [](void* data) { (*static_cast<const std::function<void()>*>(data))(); };
  const auto& row = rows[first];
  const OnDevice here(row.device);
  musasim_as_kernel(row.kernel.c_str(), row.stream, run, const_cast<std::function<void()>*>(&rest));
}

} // namespace

std::vector<Row> rows_of(const std::vector<std::pair<Member, Operation>>& submitted) {
  std::set<std::pair<const Communicator*, bool>> seen;
  std::vector<Row> rows;
  for (const auto& [member, operation] : submitted) {
    const bool is_message = operation.call.kind == Kind::Message;
    if (member->ranks > 1 && seen.emplace(member.get(), is_message).second) {
      rows.push_back({member->device, operation.stream, kernel_name(*member, operation)});
    }
  }
  return rows;
}

void run_as(const std::vector<Row>& rows, const std::function<void()>& work) {
  run_from(rows, 0, work);
}

} // namespace musasim::libmccl
