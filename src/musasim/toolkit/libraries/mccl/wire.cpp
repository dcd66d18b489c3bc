#include "wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <thread>

namespace musasim::libmccl {
namespace {

constexpr int64_t kPatienceMs = 10 * 60 * 1000; // for ranks that have not arrived, as long as torch.distributed waits
constexpr int kPollMs = 100; // how soon an abort is seen

struct Hello {
  int rank;
  int ranks;
};

struct Header {
  Call call;
  uint64_t bytes;
};

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Failure system_error(const char* what) {
  return {mcclSystemError, std::string(what) + ": " + std::strerror(errno)};
}

// An address without a file: it is gone with the last socket that has it.
socklen_t address_of(const std::string& name, int rank, sockaddr_un* address) {
  const auto text = "musasim-mccl-" + name + "-" + std::to_string(rank);
  *address = {};
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path + 1, text.data(), text.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
}

// Such an address has no permissions, so another user's process could have taken it.
bool is_own_user(int connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

bool wait_for(int connection, short events, int timeout_ms) {
  pollfd waiting{connection, events, 0};
  return poll(&waiting, 1, timeout_ms) > 0;
}

// The transfers with one rank in one direction. Each is preceded by what its rank has called.
class Flow {
 public:
  Flow(int peer, const std::vector<Piece>& all) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(pieces_), [peer](const Piece& each) { return each.peer == peer; });
  }

  bool finished() const {
    return at_ == pieces_.size();
  }

  Failure send(int connection) {
    return advance([&](char* data, size_t bytes) { return ::send(connection, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT); }, false);
  }

  Failure receive(int connection) {
    return advance([&](char* data, size_t bytes) { return recv(connection, data, bytes, MSG_DONTWAIT); }, true);
  }

 private:
  template <class Transfer>
  Failure advance(Transfer transfer, bool receiving) {
    while (!finished()) {
      const auto& piece = pieces_[at_];
      if (!receiving && done_ == 0) {
        header_ = {piece.call, piece.bytes};
      }
      const bool in_header = done_ < sizeof(Header);
      char* const data = in_header ? reinterpret_cast<char*>(&header_) + done_ : piece.data + (done_ - sizeof(Header));
      const size_t left = in_header ? sizeof(Header) - done_ : sizeof(Header) + piece.bytes - done_;
      if (left != 0) {
        const auto moved = transfer(data, left);
        if (moved < 0 && (errno == EAGAIN || errno == EINTR)) {
          return {};
        }
        if (moved <= 0) {
          return {mcclRemoteError, "rank " + std::to_string(piece.peer) + " has gone"};
        }
        done_ += static_cast<size_t>(moved);
      }
      if (const auto failure = receiving && done_ == sizeof(Header) ? compared(piece) : Failure{}) {
        return failure;
      }
      if (done_ == sizeof(Header) + piece.bytes) {
        ++at_;
        done_ = 0;
      }
    }
    return {};
  }

  Failure compared(const Piece& piece) const {
    if (header_.call == piece.call && header_.bytes == piece.bytes) {
      return {};
    }
    return {mcclInvalidUsage, "rank " + std::to_string(piece.peer) + " has called " + described(header_.call) + ", and this rank " + described(piece.call)};
  }

  std::vector<Piece> pieces_;
  size_t at_ = 0;
  size_t done_ = 0; // bytes of the current transfer, with its header
  Header header_{};
};

Failure copy_to_self(int rank, const std::vector<Piece>& sends, const std::vector<Piece>& receives) {
  const auto own = [rank](const std::vector<Piece>& all) {
    std::vector<Piece> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found), [rank](const Piece& each) { return each.peer == rank; });
    return found;
  };
  const auto from = own(sends), to = own(receives);
  if (from.size() != to.size()) {
    return {mcclInvalidUsage, "a rank that sends to itself has to receive from itself in the same group"};
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (!(from[i].call == to[i].call)) {
      return {mcclInvalidUsage, "this rank sends " + described(from[i].call) + " to itself, and receives " + described(to[i].call)};
    }
    std::memmove(to[i].data, from[i].data, from[i].bytes);
  }
  return {};
}

} // namespace

std::string described(const Call& call) {
  constexpr const char* names[] = {"AllReduce", "Reduce", "ReduceScatter", "AllGather", "Broadcast", "Send or Recv"};
  const auto kind = static_cast<size_t>(call.kind);
  return std::string(kind < std::size(names) ? names[kind] : "something else") + " of " + std::to_string(call.count) + " numbers of type " +
      std::to_string(call.type) + " (operation " + std::to_string(call.op) + ", root " + std::to_string(call.root) + ")";
}

Wire::~Wire() {
  for (const int connection : sockets_) {
    if (connection >= 0) {
      close(connection);
    }
  }
}

Failure Wire::connect(const std::string& name) {
  const int64_t deadline = now_ms() + kPatienceMs;
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) {
    return system_error("no socket");
  }
  sockaddr_un address;
  const auto length = address_of(name, rank_, &address);
  Failure failure;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    failure = {mcclInvalidUsage, "rank " + std::to_string(rank_) + " is there already, or its identifier is used a second time"};
  } else if (listen(listener, static_cast<int>(sockets_.size())) != 0) {
    failure = system_error("the ranks cannot be waited for");
  } else if (!(failure = call_lower_ranks(name, deadline))) {
    failure = answer_higher_ranks(listener, deadline);
  }
  close(listener);
  return failure;
}

Failure Wire::call_lower_ranks(const std::string& name, int64_t deadline) {
  for (int peer = 0; peer < rank_; ++peer) {
    sockaddr_un address;
    const auto length = address_of(name, peer, &address);
    const int connection = sockets_[static_cast<size_t>(peer)] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (::connect(connection, reinterpret_cast<sockaddr*>(&address), length) != 0) {
      if (connection < 0 || now_ms() > deadline || aborted_) {
        return {mcclSystemError, "rank " + std::to_string(peer) + " did not come"};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const Hello hello{rank_, static_cast<int>(sockets_.size())};
    if (!is_own_user(connection) || ::send(connection, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
      return {mcclSystemError, "rank " + std::to_string(peer) + " is not to be spoken to"};
    }
  }
  return {};
}

Failure Wire::answer_higher_ranks(int listener, int64_t deadline) {
  for (size_t missing = sockets_.size() - 1 - static_cast<size_t>(rank_); missing > 0;) {
    if (now_ms() > deadline || aborted_) {
      return {mcclSystemError, std::to_string(missing) + " ranks did not come"};
    }
    if (!wait_for(listener, POLLIN, kPollMs)) {
      continue;
    }
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Hello hello{};
    if (connection < 0 || !is_own_user(connection) || recv(connection, &hello, sizeof(hello), MSG_WAITALL) != sizeof(hello)) {
      close(connection);
      continue;
    }
    const bool expected = hello.ranks == static_cast<int>(sockets_.size()) && hello.rank > rank_ && hello.rank < hello.ranks;
    if (!expected || sockets_[static_cast<size_t>(hello.rank)] >= 0) {
      close(connection);
      return {mcclInvalidUsage, "rank " + std::to_string(hello.rank) + " of " + std::to_string(hello.ranks) + " is not one of this communicator"};
    }
    sockets_[static_cast<size_t>(hello.rank)] = connection;
    --missing;
  }
  return {};
}

Failure Wire::exchange(const std::vector<Piece>& sends, const std::vector<Piece>& receives) {
  auto failure = transfer(sends, receives);
  for (const int connection : sockets_) {
    if (failure && connection >= 0) {
      shutdown(connection, SHUT_RDWR);
    }
  }
  return failure;
}

Failure Wire::transfer(const std::vector<Piece>& sends, const std::vector<Piece>& receives) {
  if (auto failure = copy_to_self(rank_, sends, receives)) {
    return failure;
  }
  std::vector<Flow> out, in;
  for (int peer = 0; peer < static_cast<int>(sockets_.size()); ++peer) {
    const bool self = peer == rank_;
    out.emplace_back(peer, self ? std::vector<Piece>{} : sends);
    in.emplace_back(peer, self ? std::vector<Piece>{} : receives);
  }
  while (!aborted_) {
    std::vector<pollfd> waiting;
    for (size_t peer = 0; peer < sockets_.size(); ++peer) {
      auto failure = out[peer].send(sockets_[peer]);
      if (failure || (failure = in[peer].receive(sockets_[peer]))) {
        return failure;
      }
      const int events = (out[peer].finished() ? 0 : POLLOUT) | (in[peer].finished() ? 0 : POLLIN);
      if (events != 0) {
        waiting.push_back({sockets_[peer], static_cast<short>(events), 0});
      }
    }
    if (waiting.empty()) {
      return {};
    }
    poll(waiting.data(), waiting.size(), kPollMs);
  }
  return {mcclInternalError, "the communicator was aborted"};
}

} // namespace musasim::libmccl
