#include "communicator.h"

#include "numbers.h"

#include <cstdio>
#include <cstring>
#include <utility>

namespace musasim::libmccl {
namespace {

std::mutex last_mutex;
std::string* const last = new std::string; // never destroyed: other libraries may ask at the end of the process

size_t bytes_of(const Operation& operation) {
  return operation.call.count * size_of(static_cast<mcclDataType_t>(operation.call.type));
}

bool is_reduction(Kind kind) {
  return kind == Kind::AllReduce || kind == Kind::Reduce || kind == Kind::ReduceScatter;
}

bool is_of_device(const char* memory, int device) {
  musaPointerAttributes found;
  return musaPointerGetAttributes(&found, memory) == musaSuccess && found.type != musaMemoryTypeUnregistered &&
      (found.type != musaMemoryTypeDevice || found.device == device);
}

} // namespace

std::string last_error() {
  const std::lock_guard<std::mutex> lock(last_mutex);
  return *last;
}

mcclResult_t fail(mcclResult_t result, const std::string& reason) {
  const std::lock_guard<std::mutex> lock(last_mutex);
  *last = reason;
  std::fprintf(stderr, "musasim: MCCL: %s\n", reason.c_str());
  return result;
}

mcclResult_t Communicator::settle(const Failure& failure) {
  if (failure && state_ == mcclSuccess) {
    state_ = failure.result;
    fail(failure.result, "rank " + std::to_string(rank) + ": " + failure.reason);
  }
  return state_;
}

mcclResult_t Communicator::connect() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return settle(wire_.connect(name_));
}

mcclResult_t Communicator::check(const Operation& operation) {
  const auto& [kind, type, op, root, count] = operation.call;
  const int peer = kind == Kind::Message ? operation.peer : static_cast<int>(root);
  if (state_ != mcclSuccess) {
    return state_;
  }
  if (size_of(static_cast<mcclDataType_t>(type)) == 0 || peer < 0 || peer >= ranks) {
    return fail(mcclInvalidArgument, described(operation.call) + ": there is no such type or rank");
  }
  const bool has_factor = op == mcclNumOps && operation.factor != nullptr;
  if (has_factor && operation.factor->type != static_cast<mcclDataType_t>(type)) {
    return fail(mcclInvalidArgument, described(operation.call) + ": the operation was made for numbers of another type");
  }
  if (is_reduction(kind) && !can_reduce(static_cast<mcclDataType_t>(type), has_factor ? mcclSum : static_cast<mcclRedOp_t>(op))) {
    return fail(mcclInvalidArgument, described(operation.call) + ": numbers of this type are not reduced in this way");
  }
  const auto usable = [this](const char* memory, size_t bytes) {
    return bytes == 0 || (is_of_device(memory, device) && is_of_device(memory + bytes - 1, device));
  };
  if (!usable(operation.from, bytes_read(operation)) || !usable(operation.to, bytes_written(operation))) {
    return fail(mcclInvalidArgument, described(operation.call) + ": the memory is not device " + std::to_string(device) + "'s");
  }
  return mcclSuccess;
}

size_t Communicator::bytes_read(const Operation& operation) const {
  const auto& [kind, type, op, root, count] = operation.call;
  if (operation.from == nullptr || (kind == Kind::Broadcast && rank != static_cast<int>(root))) {
    return kind == Kind::Message || kind == Kind::Broadcast ? 0 : bytes_of(operation);
  }
  return bytes_of(operation) * (kind == Kind::ReduceScatter ? static_cast<size_t>(ranks) : 1);
}

size_t Communicator::bytes_written(const Operation& operation) const {
  const auto& [kind, type, op, root, count] = operation.call;
  if ((kind == Kind::Message && operation.to == nullptr) || (kind == Kind::Reduce && rank != static_cast<int>(root))) {
    return 0;
  }
  return bytes_of(operation) * (kind == Kind::AllGather ? static_cast<size_t>(ranks) : 1);
}

mcclResult_t Communicator::run(const std::vector<Operation>& operations) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Failure failure;
  if (std::exchange(is_late_, false)) {
    failure = wire_.connect(name_);
  }
  for (const auto& operation : operations) {
    if (operation.call.kind != Kind::Message && !failure && state_ == mcclSuccess) {
      failure = collective(operation);
    }
  }
  if (!failure && state_ == mcclSuccess) {
    failure = messages(operations);
  }
  return settle(failure);
}

Failure Communicator::messages(const std::vector<Operation>& operations) {
  std::vector<Piece> sends, receives;
  for (const auto& operation : operations) {
    if (operation.call.kind == Kind::Message) {
      auto* const data = operation.to != nullptr ? operation.to : const_cast<char*>(operation.from);
      (operation.to != nullptr ? receives : sends).push_back({operation.peer, data, bytes_of(operation), operation.call});
    }
  }
  return sends.empty() && receives.empty() ? Failure{} : wire_.exchange(sends, receives);
}

// What this rank gives each other one: `each` bytes, all the same or one stretch after the other.
std::vector<Piece> Communicator::to_others(const Operation& operation, size_t each, bool different) const {
  std::vector<Piece> pieces;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) {
      auto* const data = const_cast<char*>(operation.from) + (different ? static_cast<size_t>(peer) * each : 0);
      pieces.push_back({peer, data, each, operation.call});
    }
  }
  return pieces;
}

mcclRedOp_t Communicator::keep(const Factor& factor) {
  const std::lock_guard<std::mutex> lock(factors_mutex_);
  factors_[next_op_] = std::make_shared<const Factor>(factor);
  return static_cast<mcclRedOp_t>(next_op_++);
}

bool Communicator::forget(mcclRedOp_t op) {
  const std::lock_guard<std::mutex> lock(factors_mutex_);
  return factors_.erase(op) != 0;
}

std::shared_ptr<const Factor> Communicator::factor(mcclRedOp_t op) {
  const std::lock_guard<std::mutex> lock(factors_mutex_);
  const auto found = factors_.find(op);
  return found == factors_.end() ? nullptr : found->second;
}

Failure Communicator::multiplied(const Operation& operation) {
  const auto type = static_cast<mcclDataType_t>(operation.call.type);
  const size_t bytes = bytes_read(operation);
  std::vector<char> numbers(bytes);
  multiply(type, operation.factor->value(), operation.from, numbers.data(), bytes / size_of(type));
  auto rest = operation;
  rest.from = numbers.data();
  rest.factor = nullptr;
  return collective(rest);
}

Failure Communicator::collective(const Operation& operation) {
  if (operation.factor != nullptr) {
    return multiplied(operation);
  }
  const auto& call = operation.call;
  const size_t bytes = bytes_of(operation);
  const int root = static_cast<int>(call.root);
  auto* const own = const_cast<char*>(operation.from);
  switch (call.kind) {
    case Kind::AllReduce:
      return all_reduce(operation);
    case Kind::Reduce:
      return rank == root ? reduce_parts(operation, {}, own, operation.to) : wire_.exchange({{root, own, bytes, call}}, {});
    case Kind::ReduceScatter:
      return reduce_parts(operation, to_others(operation, bytes, true), own + static_cast<size_t>(rank) * bytes, operation.to);
    case Kind::AllGather: {
      std::vector<Piece> receives;
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer != rank) {
          receives.push_back({peer, operation.to + static_cast<size_t>(peer) * bytes, bytes, call});
        }
      }
      const auto failure = wire_.exchange(to_others(operation, bytes, false), receives);
      std::memmove(operation.to + static_cast<size_t>(rank) * bytes, own, bytes);
      return failure;
    }
    default: // Broadcast
      if (rank != root) {
        return wire_.exchange({}, {{root, operation.to, bytes, call}});
      }
      std::memmove(operation.to, own, bytes);
      return wire_.exchange(to_others(operation, bytes, false), {});
  }
}

// Receives the other ranks' numbers while it sends, and reduces them with this rank's own in the order of ranks.
Failure Communicator::reduce_parts(const Operation& operation, const std::vector<Piece>& sends, char* own, char* into) {
  const size_t bytes = bytes_of(operation);
  std::vector<char> received(bytes * static_cast<size_t>(ranks));
  std::vector<Piece> receives;
  std::vector<const void*> parts;
  for (int peer = 0; peer < ranks; ++peer) {
    char* const place = received.data() + static_cast<size_t>(peer) * bytes;
    parts.push_back(peer == rank ? own : place);
    if (peer != rank) {
      receives.push_back({peer, place, bytes, operation.call});
    }
  }
  if (auto failure = wire_.exchange(sends, receives)) {
    return failure;
  }
  reduce(static_cast<mcclDataType_t>(operation.call.type), static_cast<mcclRedOp_t>(operation.call.op), parts, into, operation.call.count);
  return {};
}

// The first rank reduces and gives the result to the others, so all have the same bits.
Failure Communicator::all_reduce(const Operation& operation) {
  const size_t bytes = bytes_of(operation);
  if (rank != 0) {
    return wire_.exchange({{0, const_cast<char*>(operation.from), bytes, operation.call}}, {{0, operation.to, bytes, operation.call}});
  }
  auto failure = reduce_parts(operation, {}, const_cast<char*>(operation.from), operation.to);
  if (!failure) {
    auto result = operation;
    result.from = operation.to;
    failure = wire_.exchange(to_others(result, bytes, false), {});
  }
  return failure;
}

} // namespace musasim::libmccl
