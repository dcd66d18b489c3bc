#include "group.h"

#include "../in_stream.h"
#include "on_device.h"
#include "rows.h"

#include <cstdlib>
#include <thread>
#include <utility>

namespace musasim::libmccl {
namespace {

struct Group {
  int depth = 0;
  mcclResult_t refused = mcclSuccess; // the first call in it that was
  std::vector<Member> joining;
  std::vector<std::pair<Member, Operation>> submitted;
};

thread_local Group group;

// Runs the tasks at the same time, because each of them may wait for another. The first failure is the answer.
mcclResult_t all_at_once(const std::vector<std::function<mcclResult_t()>>& tasks) {
  std::vector<mcclResult_t> results(tasks.size(), mcclSuccess);
  std::vector<std::thread> others;
  for (size_t i = 1; i < tasks.size(); ++i) {
    others.emplace_back([&, i] { results[i] = tasks[i](); });
  }
  if (!tasks.empty()) {
    results[0] = tasks[0]();
  }
  for (auto& other : others) {
    other.join();
  }
  for (const auto result : results) {
    if (result != mcclSuccess) {
      return result;
    }
  }
  return mcclSuccess;
}

mcclResult_t run(const std::vector<std::pair<Member, Operation>>& submitted) {
  std::vector<std::pair<Member, std::vector<Operation>>> by_member;
  for (const auto& [member, operation] : submitted) {
    auto found = by_member.begin();
    while (found != by_member.end() && found->first != member) {
      ++found;
    }
    if (found == by_member.end()) {
      found = by_member.insert(found, {member, {}});
    }
    found->second.push_back(operation);
  }
  std::vector<std::function<mcclResult_t()>> tasks;
  for (const auto& each : by_member) {
    tasks.push_back([&each] { return each.first->run(each.second); });
  }
  return all_at_once(tasks);
}

void replay(const std::vector<std::pair<Member, Operation>>& submitted) {
  if (run(submitted) != mcclSuccess) {
    std::abort(); // a replay has no way to report it, and on a device it would never end
  }
}

// One stream follows what is in the other.
musaError_t follow(musaStream_t stream, int device, musaStream_t other, int other_device) {
  musaEvent_t event;
  {
    const OnDevice there(other_device);
    if (const auto error = musaEventCreateWithFlags(&event, musaEventDisableTiming)) return error;
    if (const auto error = musaEventRecord(event, other)) return error;
  }
  const OnDevice here(device);
  const auto error = musaStreamWaitEvent(stream, event, 0);
  musaEventDestroy(event);
  return error;
}

// Does all of it in the first one's stream, which the other streams wait for, and which waits for them.
mcclResult_t run_in_streams(std::vector<std::pair<Member, Operation>> submitted) {
  const auto stream = submitted.front().second.stream;
  const int device = submitted.front().first->device;
  std::vector<std::pair<musaStream_t, int>> others;
  for (const auto& [member, operation] : submitted) {
    if (operation.stream != stream || member->device != device) {
      others.emplace_back(operation.stream, member->device);
    }
  }
  auto result = mcclSuccess;
  auto error = musaSuccess;
  for (const auto& [other, other_device] : others) {
    error = error ? error : follow(stream, device, other, other_device);
  }
  if (!error) {
    const OnDevice here(device);
    const auto rows = rows_of(submitted);
    musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
    error = musaStreamIsCapturing(stream, &status);
    if (!error && status == musaStreamCaptureStatusNone) {
      error = in_stream(stream, [&] { run_as(rows, [&] { result = run(submitted); }); });
    } else if (!error) {
      error = in_stream(stream, [rows, submitted = std::move(submitted)] { run_as(rows, [&] { replay(submitted); }); });
    }
  }
  for (const auto& [other, other_device] : others) {
    error = error ? error : follow(other, other_device, stream, device);
  }
  return error ? fail(mcclUnhandledMusaError, musaGetErrorString(error)) : result;
}

} // namespace

void begin_group() {
  ++group.depth;
}

mcclResult_t end_group() {
  if (group.depth == 0) {
    return fail(mcclInvalidUsage, "mcclGroupEnd without mcclGroupStart");
  }
  if (--group.depth > 0) {
    return mcclSuccess;
  }
  const auto ended = std::exchange(group, Group{});
  if (ended.refused != mcclSuccess) {
    return ended.refused;
  }
  std::vector<std::function<mcclResult_t()>> joining;
  for (const auto& member : ended.joining) {
    joining.push_back([&member] { return member->connect(); });
  }
  if (const auto result = all_at_once(joining); result != mcclSuccess) {
    return result;
  }
  return ended.submitted.empty() ? mcclSuccess : run_in_streams(ended.submitted);
}

mcclResult_t join(const Member& member) {
  if (group.depth == 0) {
    return member->connect();
  }
  group.joining.push_back(member);
  return mcclSuccess;
}

mcclResult_t submit(const Member& member, const Operation& operation) {
  const auto result = member->check(operation);
  if (group.depth == 0) {
    return result == mcclSuccess ? run_in_streams({{member, operation}}) : result;
  }
  if (result != mcclSuccess && group.refused == mcclSuccess) {
    group.refused = result;
  }
  group.submitted.emplace_back(member, operation);
  return result;
}

} // namespace musasim::libmccl
