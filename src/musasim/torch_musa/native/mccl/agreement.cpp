#include "agreement.h"

#include "tensors.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <algorithm>
#include <sstream>

namespace musasim::mccl {
namespace {

constexpr size_t kDims = 8;
constexpr size_t kFixed = 6 + kDims;

const char* name_of_reduction(int reduction) {
  static constexpr const char* names[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX"};
  return reduction >= 0 && reduction < 5 ? names[reduction] : "?";
}

bool same(const Operation& a, const Operation& b) {
  const bool counts = a.type != c10d::OpType::REDUCE_SCATTER || a.sends == b.sends;
  return a.type == b.type && a.count == b.count && a.dtype == b.dtype && a.reduction == b.reduction &&
      a.root == b.root && counts;
}

// Whether each rank sends what the others expect. In a reduce_scatter these numbers mean its parts, which same() compares.
bool fit_together(const std::vector<Operation>& all) {
  const size_t ranks = all.size();
  for (size_t from = 0; from < ranks; ++from) {
    for (size_t to = 0; to < ranks; ++to) {
      if (all[from].sends[to] != all[to].receives[from]) {
        return false;
      }
    }
  }
  return true;
}

bool all_agree(const std::vector<Operation>& all) {
  const bool alike = std::all_of(all.begin(), all.end(), [&](const Operation& one) { return same(one, all[0]); });
  return alike && (all[0].type == c10d::OpType::REDUCE_SCATTER || fit_together(all));
}

std::string list(const std::vector<int64_t>& numbers) {
  std::ostringstream text;
  text << "[";
  for (size_t i = 0; i < numbers.size(); ++i) {
    text << (i == 0 ? "" : ", ") << numbers[i];
  }
  text << "]";
  return text.str();
}

std::string explain_disagreement(const std::string& group, const std::vector<Operation>& all) {
  std::ostringstream text;
  text << "MCCL: the ranks of process group " << group << " do not call the same operation on tensors that fit together";
  for (size_t rank = 0; rank < all.size(); ++rank) {
    text << "\n  rank " << rank << ": " << all[rank].describe();
  }
  text << "\nNo rank has done anything yet.";
  return text.str();
}

bool any(const std::vector<int64_t>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](int64_t number) { return number != 0; });
}

std::vector<int64_t> padded(std::vector<int64_t> numbers, size_t size) {
  numbers.resize(size, 0);
  return numbers;
}

} // namespace

Operation::Operation(c10d::OpType type_, const at::Tensor& tensor)
    : type(type_), count(tensor.numel()), dtype(tensor.scalar_type()), shape(tensor.sizes().vec()) {}

std::string Operation::describe() const {
  std::ostringstream text;
  text << c10d::opTypeToString(type);
  if (type == c10d::OpType::BARRIER) {
    return text.str();
  }
  text << " of shape " << list(shape) << " and type " << dtype;
  if (reduction >= 0) {
    text << ", " << name_of_reduction(reduction);
  }
  if (root >= 0) {
    text << ", root " << root;
  }
  if (any(sends)) {
    text << ", elements to each rank " << list(sends);
  }
  if (any(receives)) {
    text << ", from each rank " << list(receives);
  }
  return text.str();
}

size_t Operation::encoded_size(int ranks) {
  return kFixed + 2 * static_cast<size_t>(ranks);
}

std::vector<int64_t> Operation::encode(int ranks) const {
  const auto n = static_cast<size_t>(ranks);
  const auto dims = std::min(shape.size(), kDims);
  std::vector<int64_t> numbers = {
      static_cast<int64_t>(type), count, static_cast<int64_t>(dtype), reduction, root, static_cast<int64_t>(dims)};
  for (const auto& part : {padded(shape, kDims), padded(sends, n), padded(receives, n)}) {
    numbers.insert(numbers.end(), part.begin(), part.end());
  }
  return numbers;
}

Operation Operation::decode(const int64_t* numbers, int ranks) {
  Operation made(static_cast<c10d::OpType>(numbers[0]));
  made.count = numbers[1];
  made.dtype = static_cast<at::ScalarType>(numbers[2]);
  made.reduction = static_cast<int>(numbers[3]);
  made.root = numbers[4];
  made.shape.assign(numbers + 6, numbers + 6 + numbers[5]);
  const auto* counts = numbers + kFixed;
  made.sends.assign(counts, counts + ranks);
  made.receives.assign(counts + ranks, counts + 2 * ranks);
  return made;
}

std::vector<Operation> agree(Gloo& gloo, const std::string& group, const Operation& mine, Deadline deadline) {
  const auto numbers = mine.encode(gloo.size());
  const auto all = gloo.allgather_numbers(numbers, deadline);
  std::vector<Operation> operations;
  for (int rank = 0; rank < gloo.size(); ++rank) {
    operations.push_back(Operation::decode(all.data() + static_cast<size_t>(rank) * numbers.size(), gloo.size()));
  }
  TORCH_CHECK_WITH(DistBackendError, all_agree(operations), explain_disagreement(group, operations));
  return operations;
}

} // namespace musasim::mccl
