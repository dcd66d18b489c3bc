// The functions of mccl.h. Nothing here throws, and nothing is destroyed at the end of the process.
#include "group.h"
#include "numbers.h"

#include <sys/random.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

using musasim::libmccl::Call;
using musasim::libmccl::Communicator;
using musasim::libmccl::fail;
using musasim::libmccl::Kind;
using musasim::libmccl::Member;
using musasim::libmccl::Operation;

namespace {

constexpr char kMark[] = "musasim:";
constexpr unsigned int kConfigMagic = 0xcafebeef;

std::mutex members_mutex;
auto& members = *new std::map<mcclComm_t, Member>;

Member find(mcclComm_t comm) {
  const std::lock_guard<std::mutex> lock(members_mutex);
  const auto found = members.find(comm);
  return found == members.end() ? nullptr : found->second;
}

mcclResult_t forget(mcclComm_t comm, bool abort) {
  const std::lock_guard<std::mutex> lock(members_mutex);
  const auto found = members.find(comm);
  if (found == members.end()) {
    return fail(mcclInvalidArgument, "there is no such communicator");
  }
  if (abort) {
    found->second->abort();
  }
  members.erase(found);
  return mcclSuccess;
}

template <class Question>
mcclResult_t ask(mcclComm_t comm, void* answer, Question question) {
  const auto member = find(comm);
  if (member == nullptr || answer == nullptr) {
    return fail(mcclInvalidArgument, "there is no such communicator, or no place for the answer");
  }
  question(*member);
  return mcclSuccess;
}

mcclResult_t submit(mcclComm_t comm, Call call, const void* from, void* to, int peer, musaStream_t stream) {
  const auto member = find(comm);
  if (member == nullptr) {
    return fail(mcclInvalidArgument, "there is no such communicator");
  }
  Operation operation{call, static_cast<const char*>(from), static_cast<char*>(to), peer, stream};
  if (call.op >= mcclNumOps) { // one of the user's own; the ranks' handles may differ
    operation.factor = member->factor(static_cast<mcclRedOp_t>(call.op));
    operation.call.op = operation.factor != nullptr ? mcclNumOps : mcclMaxRedOp;
  }
  return musasim::libmccl::submit(member, operation);
}

Call call(Kind kind, size_t count, mcclDataType_t type, int op = 0, int root = 0) {
  return {kind, static_cast<uint32_t>(type), static_cast<uint32_t>(op), static_cast<uint32_t>(root), count};
}

} // namespace

mcclResult_t mcclGetVersion(int* version) {
  if (version == nullptr) {
    return fail(mcclInvalidArgument, "mcclGetVersion without a place for the version");
  }
  *version = MCCL_VERSION_CODE;
  return mcclSuccess;
}

const char* mcclGetErrorString(mcclResult_t result) {
  constexpr const char* texts[] = {"no error", "error of the MUSA runtime", "system error", "internal error", "invalid argument", "invalid usage", "another rank has failed or ended", "operation in progress"};
  return result >= 0 && result < mcclNumResults ? texts[result] : "unknown result code";
}

const char* mcclGetLastError(mcclComm_t) {
  thread_local std::string text;
  text = musasim::libmccl::last_error();
  return text.c_str();
}

mcclResult_t mcclGetUniqueId(mcclUniqueId* id) {
  unsigned char random[16];
  if (id == nullptr || getrandom(random, sizeof(random), 0) != sizeof(random)) {
    return fail(mcclInvalidArgument, "no identifier can be made there");
  }
  *id = {};
  std::memcpy(id->internal, kMark, sizeof(kMark) - 1);
  for (size_t i = 0; i < sizeof(random); ++i) {
    std::snprintf(id->internal + sizeof(kMark) - 1 + 2 * i, 3, "%02x", random[i]);
  }
  return mcclSuccess;
}

mcclResult_t mcclCommInitRank(mcclComm_t* comm, int ranks, mcclUniqueId id, int rank) {
  const size_t length = strnlen(id.internal, sizeof(id.internal));
  if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks || length != sizeof(kMark) - 1 + 32 ||
      std::memcmp(id.internal, kMark, sizeof(kMark) - 1) != 0) {
    return fail(mcclInvalidArgument, "a communicator needs a place, a rank below the number of ranks, and an identifier of mcclGetUniqueId");
  }
  int device = 0;
  if (const auto error = musaGetDevice(&device)) {
    return fail(mcclUnhandledMusaError, musaGetErrorString(error));
  }
  const auto member = std::make_shared<Communicator>(rank, ranks, device, id.internal + sizeof(kMark) - 1);
  *comm = reinterpret_cast<mcclComm_t>(member.get());
  {
    const std::lock_guard<std::mutex> lock(members_mutex);
    members[*comm] = member;
  }
  const auto result = musasim::libmccl::join(member);
  if (result != mcclSuccess) {
    forget(*comm, false);
    *comm = nullptr;
  }
  return result;
}

// For a group of torch.distributed, whose ranks have agreed on a name: a communicator that connects with its first operation.
extern "C" MUSART_API mcclResult_t musasim_mccl_communicator(mcclComm_t* comm, int ranks, int rank, const char* name) {
  int device = 0;
  if (const auto error = musaGetDevice(&device)) {
    return fail(mcclUnhandledMusaError, musaGetErrorString(error));
  }
  const auto member = std::make_shared<Communicator>(rank, ranks, device, name);
  member->connect_later();
  *comm = reinterpret_cast<mcclComm_t>(member.get());
  const std::lock_guard<std::mutex> lock(members_mutex);
  members[*comm] = member;
  return mcclSuccess;
}

mcclResult_t mcclCommInitRankConfig(mcclComm_t* comm, int ranks, mcclUniqueId id, int rank, mcclConfig_t* config) {
  if (config != nullptr && (config->size < sizeof(mcclConfig_t) || config->magic != kConfigMagic)) {
    return fail(mcclInvalidArgument, "the configuration was not initialised");
  }
  return mcclCommInitRank(comm, ranks, id, rank);
}

mcclResult_t mcclCommInitAll(mcclComm_t* comms, int count, const int* devices) {
  mcclUniqueId id;
  int before = 0;
  if (comms == nullptr || count < 1 || musaGetDevice(&before) != musaSuccess) {
    return fail(mcclInvalidArgument, "mcclCommInitAll needs places for its communicators, and a device");
  }
  auto result = mcclGetUniqueId(&id);
  mcclGroupStart();
  for (int rank = 0; rank < count && result == mcclSuccess; ++rank) {
    const auto error = musaSetDevice(devices == nullptr ? rank : devices[rank]);
    result = error ? fail(mcclUnhandledMusaError, musaGetErrorString(error)) : mcclCommInitRank(comms + rank, count, id, rank);
  }
  musaSetDevice(before);
  const auto ended = mcclGroupEnd();
  return result == mcclSuccess ? ended : result;
}

mcclResult_t mcclCommFinalize(mcclComm_t comm) {
  return find(comm) != nullptr ? mcclSuccess : fail(mcclInvalidArgument, "there is no such communicator");
}

mcclResult_t mcclCommDestroy(mcclComm_t comm) {
  return comm == nullptr ? mcclSuccess : forget(comm, false);
}

mcclResult_t mcclCommAbort(mcclComm_t comm) {
  return comm == nullptr ? mcclSuccess : forget(comm, true);
}

mcclResult_t mcclCommGetAsyncError(mcclComm_t comm, mcclResult_t* result) {
  return ask(comm, result, [&](const Communicator& member) { *result = member.state(); });
}

mcclResult_t mcclCommCount(mcclComm_t comm, int* count) {
  return ask(comm, count, [&](const Communicator& member) { *count = member.ranks; });
}

mcclResult_t mcclCommUserRank(mcclComm_t comm, int* rank) {
  return ask(comm, rank, [&](const Communicator& member) { *rank = member.rank; });
}

mcclResult_t mcclCommCuDevice(mcclComm_t comm, int* device) {
  return ask(comm, device, [&](const Communicator& member) { *device = member.device; });
}

mcclResult_t mcclRedOpCreatePreMulSum(mcclRedOp_t* op, void* scalar, mcclDataType_t type, mcclScalarResidence_t residence, mcclComm_t comm) {
  const auto member = find(comm);
  if (member == nullptr || op == nullptr || scalar == nullptr || !musasim::libmccl::can_reduce(type, mcclSum) ||
      (residence != mcclScalarDevice && residence != mcclScalarHostImmediate)) {
    return fail(mcclInvalidArgument, "an operation needs a communicator, a place for it, a number, its type and where it is");
  }
  musasim::libmccl::Factor factor{type, residence == mcclScalarDevice ? scalar : nullptr, {}};
  if (residence == mcclScalarHostImmediate) {
    std::memcpy(factor.number, scalar, musasim::libmccl::size_of(type));
  }
  *op = member->keep(factor);
  return mcclSuccess;
}

mcclResult_t mcclRedOpDestroy(mcclRedOp_t op, mcclComm_t comm) {
  const auto member = find(comm);
  return member != nullptr && member->forget(op) ? mcclSuccess : fail(mcclInvalidArgument, "there is no such operation");
}

mcclResult_t mcclGroupStart(void) {
  musasim::libmccl::begin_group();
  return mcclSuccess;
}

mcclResult_t mcclGroupEnd(void) {
  return musasim::libmccl::end_group();
}

mcclResult_t mcclAllReduce(const void* from, void* to, size_t count, mcclDataType_t type, mcclRedOp_t op, mcclComm_t comm, musaStream_t stream) {
  return submit(comm, call(Kind::AllReduce, count, type, op), from, to, 0, stream);
}

mcclResult_t mcclReduce(const void* from, void* to, size_t count, mcclDataType_t type, mcclRedOp_t op, int root, mcclComm_t comm, musaStream_t stream) {
  return submit(comm, call(Kind::Reduce, count, type, op, root), from, to, 0, stream);
}

mcclResult_t mcclReduceScatter(const void* from, void* to, size_t each, mcclDataType_t type, mcclRedOp_t op, mcclComm_t comm, musaStream_t stream) {
  return submit(comm, call(Kind::ReduceScatter, each, type, op), from, to, 0, stream);
}

mcclResult_t mcclAllGather(const void* from, void* to, size_t each, mcclDataType_t type, mcclComm_t comm, musaStream_t stream) {
  return submit(comm, call(Kind::AllGather, each, type), from, to, 0, stream);
}

mcclResult_t mcclBroadcast(const void* from, void* to, size_t count, mcclDataType_t type, int root, mcclComm_t comm, musaStream_t stream) {
  return submit(comm, call(Kind::Broadcast, count, type, 0, root), from, to, 0, stream);
}

mcclResult_t mcclBcast(void* buffer, size_t count, mcclDataType_t type, int root, mcclComm_t comm, musaStream_t stream) {
  return mcclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

mcclResult_t mcclSend(const void* from, size_t count, mcclDataType_t type, int peer, mcclComm_t comm, musaStream_t stream) {
  return submit(comm, call(Kind::Message, count, type), from, nullptr, peer, stream);
}

mcclResult_t mcclRecv(void* to, size_t count, mcclDataType_t type, int peer, mcclComm_t comm, musaStream_t stream) {
  return submit(comm, call(Kind::Message, count, type), nullptr, to, peer, stream);
}

mcclResult_t mcclMemAlloc(void** pointer, size_t size) {
  const auto error = musaMalloc(pointer, size);
  return error ? fail(mcclUnhandledMusaError, musaGetErrorString(error)) : mcclSuccess;
}

mcclResult_t mcclMemFree(void* pointer) {
  const auto error = musaFree(pointer);
  return error ? fail(mcclUnhandledMusaError, musaGetErrorString(error)) : mcclSuccess;
}

// A window makes transfers faster on a device. Here it is a name for the memory.
mcclResult_t mcclCommWindowRegister(mcclComm_t comm, void* buffer, size_t size, mcclWindow_t* window, int) {
  if (find(comm) == nullptr || buffer == nullptr || size == 0 || window == nullptr) {
    return fail(mcclInvalidArgument, "a window needs a communicator, memory and a place for its handle");
  }
  *window = reinterpret_cast<mcclWindow_t>(buffer);
  return mcclSuccess;
}

mcclResult_t mcclCommWindowDeregister(mcclComm_t comm, mcclWindow_t) {
  return find(comm) != nullptr ? mcclSuccess : fail(mcclInvalidArgument, "there is no such communicator");
}
