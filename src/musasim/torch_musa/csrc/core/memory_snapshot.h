#pragma once

#include <c10/musa/MUSAMacros.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace torch::musa {

// As torch.musa.memory._record_memory_history, with the arguments of older releases or with today's.
C10_MUSA_API void _record_memory_history(
    bool enabled,
    bool record_context = true,
    int64_t trace_alloc_max_entries = 1,
    bool trace_alloc_record_context = false,
    bool record_cpp_context = false);
C10_MUSA_API void _record_memory_history(
    std::optional<std::string> enabled = "all",
    std::optional<std::string> context = "all",
    const std::string& stacks = "all",
    size_t max_entries = SIZE_MAX);

// What torch.musa.memory._snapshot() returns, for pickle.loads.
C10_MUSA_API std::string _memory_snapshot_pickled();

} // namespace torch::musa
