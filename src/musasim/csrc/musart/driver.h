// The simulated driver, which the runtime API and the PyTorch backend share. It knows nothing of PyTorch, so that a program
// linked only against libmusart.so starts without it. Nothing here throws, and nothing is ever destroyed, because objects of
// Python and of other libraries may outlive static destruction.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace musart {

// --- devices -----------------------------------------------------------------------------------------------------------

constexpr int kMaxDevices = 64;

struct DeviceProperties {
  // Figures and results are the CPU's, so the name says "simulated".
  std::string name = "MTT S5000 (simulated)";
  int major = 3;
  int minor = 1;
  bool is_multi_gpu_board = false;
  bool is_integrated = false;
  int multi_processor_count = 56;
  size_t total_memory = 0;
};

// Devices are counted once per process, as a driver does, so the environment is read at the first call only.
int device_count() noexcept;
const DeviceProperties& device_properties();

// A number from the environment, at least `low`; `fallback` if it is not set, and with a warning if it is not such a number.
long long read_number(const char* name, long long fallback, long long low);

int current_device() noexcept; // of the calling thread
void set_current_device(int device) noexcept;

// The error (a musaError_t, 0 for none) of a kernel that failed on the device. It stays until the process ends.
int device_fault(int device) noexcept;
void fail_device(int device, int error) noexcept;

// A driver does not survive a fork. After `arm_fork_guard`, a forked child cannot do any device work.
void arm_fork_guard();
bool in_bad_fork() noexcept;

// --- memory ------------------------------------------------------------------------------------------------------------

enum class Owner { Program, Framework, Imported }; // musaMalloc, PyTorch's caching allocator, another process

// Address space that gets memory piece by piece.
struct Reservation {
  char* base;
  size_t size;
  int device; // of the pieces; -1 where the program itself maps memory of any device (virtual_memory.cpp)
  int file = -1; // the descriptor behind it, once a piece has been exported to other processes
};

struct Allocation {
  char* base = nullptr;
  size_t size = 0;
  int device = -1;
  Owner owner = Owner::Program;
  int shared = -1; // the file descriptor behind it, once it has been exported to other processes
  bool managed = false; // usable by the host as well
  const Reservation* reserved_in = nullptr; // neighbouring pieces of a reservation are one allocation
};

void* allocate(int device, size_t bytes, Owner owner); // nullptr when the device is full
bool mark_managed(void* base);
bool is_managed(const void* pointer);
bool release(void* base, Owner owner); // false if there is no such allocation
void release_all(int device, Owner owner);
uint64_t releases() noexcept; // how many allocations were given back in this process
std::optional<Allocation> find_allocation(const void* pointer); // the one that `pointer` lies in
std::pair<size_t, size_t> memory_info(int device); // free, total

// How much of the device a program uses, without a place of its own.
bool take_memory(int device, size_t bytes); // false when the device is full
void give_memory_back(int device, size_t bytes);

// Pieces are whole pages of the reservation; they are zero when they are mapped. Touching what is not mapped ends the process.
Reservation* reserve(int device, size_t bytes, size_t alignment = 1); // nullptr when the host has no such address space
bool map(Reservation& in, char* address, size_t bytes); // false when the device is full
void unmap(Reservation& in, char* address, size_t bytes);
void cancel(Reservation* reservation); // nothing of it may be mapped
int share(Reservation& reservation); // puts it on shared pages; the descriptor, or -1

// Bytes from `pointer` to the end of the device's variable that it lies in; 0 when it lies in none.
size_t room_in_symbol(const void* pointer);

// Puts the allocation on shared pages, at the same address and with the same contents; its descriptor, or -1.
int share(const Allocation& allocation);
void add_import(const Allocation& allocation);
bool remove_import(char* base, size_t* size);

// --- pinned host memory ------------------------------------------------------------------------------------------------

void* allocate_pinned(size_t bytes);
bool release_pinned(void* pointer);
bool is_pinned(const void* pointer);
bool register_host_range(const void* pointer, size_t bytes); // false when part of it is registered already
bool unregister_host_range(const void* pointer);

// --- graph capture -----------------------------------------------------------------------------------------------------

struct Event;
struct Stream;

// The work of a capture that precedes something: for each stream, the number of the capture's operations.
using Progress = std::map<const Stream*, size_t>;

enum class CaptureMode { Global, ThreadLocal, Relaxed };

struct KernelNode; // in kernel_node.h

// What one capture has recorded. `nodes` redo the work, in order, on the memory that the capture saw.
struct Capture {
  struct Node {
    std::string name;
    std::function<void()> run;
    std::shared_ptr<KernelNode> kernel; // what `run` launches, where that is a kernel whose parameters are known
    bool at_once = false; // it waits for another thread of the program, or reads what the host may change, such as a generator
  };

  CaptureMode mode;
  bool invalidated = false;
  std::vector<Node> nodes;
  std::vector<Stream*> joined; // streams that an event of this capture was waited on
  std::map<const Stream*, Progress> reached; // by stream, the work of every stream that its own next work follows

  explicit Capture(CaptureMode mode_) : mode(mode_) {}

  void add(Node node, const Stream& stream);
  void add(std::string name, std::function<void()> run, const Stream& stream) {
    add({std::move(name), std::move(run)}, stream);
  }
  bool has_unjoined_work(const Stream& origin) const;
};

// A graph of the runtime API that does these operations, as its handle, and the operations of a graph or of an executable of one.
void* make_graph(std::vector<Capture::Node> nodes);
std::shared_ptr<const std::vector<Capture::Node>> nodes_of(const void* handle); // nullptr: there is no such graph

extern std::atomic<int> running_captures; // usually 0, and then no other check is needed

bool begin_capture(Capture& capture, Stream& origin); // false if the stream is being captured already
void finish_capture(Capture& capture, Stream& origin);
bool is_running(const Capture* capture);
void join_capture(const Event& event, Stream& stream); // does nothing if the event's capture is over

// The capture that forbids an unsafe call: in "global" mode from any thread, in "thread_local" mode from its own thread.
Capture* forbidding_capture();

// --- streams and events ------------------------------------------------------------------------------------------------

// Kernels run at once on the calling thread, so a stream is only a clock: `busy_until` says when the work queued on it
// would be done. So query, wait and elapsed time are correct without worker threads.
struct Stream {
  std::atomic<int64_t> busy_until{0};
  std::atomic<Capture*> capture{nullptr};
  int priority = 0;
  int device = -1;
  bool blocking = false; // whether the default stream waits for it
};

constexpr int kHighestPriority = -1;

int64_t now_ns() noexcept;
void wait_until(int64_t when_ns);
int64_t completion_ns(const Stream& stream);
void wait_for(Stream& stream, int64_t when_ns); // the stream, not the host

Stream& default_stream(int device);
Stream* create_stream(int device, int priority, bool blocking);
void enlist(Stream& stream); // registers the address of a stream that other code owns
Stream* find_stream(const void* handle); // nullptr if no stream has this address
bool destroy_stream(const void* handle);
int64_t last_completion(int device, bool blocking_only);

// The time of an event that several processes share. The host's clock is the same for all of them.
struct SharedTime {
  std::atomic<int64_t>* when_ns = nullptr;
  std::string handle; // of its memory
  int64_t index = 0;
  std::shared_ptr<void> memory; // keeps that memory open
};

struct Event {
  int64_t when_ns = 0;
  int device = -1;
  Capture* capture = nullptr;
  Progress progress; // of the capture, when it was recorded
  bool recorded = false;
  bool timing = true;
  std::optional<SharedTime> shared;
};

int64_t time_of(const Event& event);

Event* create_event(bool timing);
bool destroy_event(Event* event);
bool is_event(const void* handle);
void record_event(Event& event, Stream& stream);
void block_on_event(const Event& event, Stream& stream);

} // namespace musart
#pragma GCC visibility pop
