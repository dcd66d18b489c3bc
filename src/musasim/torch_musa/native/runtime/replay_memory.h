#pragma once

#include <cstddef>
#include <vector>

namespace musasim {

// One allocation of a recorded operation. `address` is that of the result that the program holds, or null for memory that
// the operation has freed.
struct Allocation {
  size_t bytes = 0;
  void* address = nullptr;
};
using AllocationPlan = std::vector<Allocation>;
inline const AllocationPlan kNothingPlanned;

// While it lives, it records the allocations of the calling thread.
class NoteAllocations {
 public:
  explicit NoteAllocations(AllocationPlan& into);
  ~NoteAllocations();
  NoteAllocations(const NoteAllocations&) = delete;
  NoteAllocations& operator=(const NoteAllocations&) = delete;

 private:
  AllocationPlan* previous_;
};

// While it lives, the calling thread's allocations follow the plan, so a replay computes into the results of the capture and
// allocates nothing on the device. Temporary memory, and allocations that the plan does not contain, come from the host.
class FollowAllocations {
 public:
  explicit FollowAllocations(const AllocationPlan& plan);
  ~FollowAllocations();
  FollowAllocations(const FollowAllocations&) = delete;
  FollowAllocations& operator=(const FollowAllocations&) = delete;

  void* next(size_t bytes); // null: not in the plan

 private:
  const AllocationPlan& plan_;
  size_t at_ = 0;
  FollowAllocations* previous_;
};

FollowAllocations* followed_plan() noexcept;
void note_allocation(size_t bytes, void* address);

// Host memory for replays, which later replays reuse.
void* take_scratch(size_t bytes);
void give_scratch(void* address, size_t bytes);

} // namespace musasim
