#include "settings.h"

#include "../runtime/release.h"

#include <torch/csrc/distributed/c10d/Utils.hpp>
#include <torch/csrc/distributed/c10d/debug.h>

namespace musasim::mccl {
namespace {

constexpr int kNoHandling = 0;
constexpr int kSkipCleanUp = 3;

// They are about threads, logs and streams that the simulator does not have.
void check_the_others() {
  for (const char* name :
       {"TORCH_MCCL_RETHROW_MUSA_ERRORS",
        "TORCH_MCCL_DUMP_ON_TIMEOUT",
        "TORCH_MCCL_PROPAGATE_ERROR",
        "TORCH_MCCL_LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN",
        "TORCH_MCCL_ENABLE_MONITORING",
        "TORCH_MCCL_MUSA_EVENT_CACHE",
        "TORCH_MCCL_AVOID_RECORD_STREAMS",
        "TORCH_MCCL_HIGH_PRIORITY"}) {
    c10d::getCvarBool({name}, false);
  }
  for (const char* name :
       {"TORCH_MCCL_HEARTBEAT_TIMEOUT_SEC",
        "TORCH_MCCL_WAIT_TIMEOUT_DUMP_MILSEC",
        "TORCH_MCCL_COORD_CHECK_MILSEC",
        "TORCH_MCCL_TRACE_BUFFER_SIZE"}) {
    c10d::getCvarInt({name}, 0);
  }
}

} // namespace

Settings Settings::read() {
  check_the_others();
  const bool blocking = c10d::getCvarBool({"TORCH_MCCL_BLOCKING_WAIT", "MCCL_BLOCKING_WAIT"}, false);
  const int handling =
      c10d::getCvarInt({"TORCH_MCCL_ASYNC_ERROR_HANDLING", "MCCL_ASYNC_ERROR_HANDLING"}, kSkipCleanUp);
  const bool desync = c10d::getCvarBool({"TORCH_MCCL_DESYNC_DEBUG", "MCCL_DESYNC_DEBUG"}, false) ||
      c10d::debug_level() >= c10d::DebugLevel::Detail;
  const bool timed = c10d::getCvarBool({"TORCH_MCCL_ENABLE_TIMING", "MCCL_ENABLE_TIMING"}, false);
  const bool checks_nan = c10d::getCvarBool({"TORCH_MCCL_NAN_CHECK"}, false);
  const bool dumps = since(Release::v2_11_0) && c10d::getCvarBool({"TORCH_MCCL_EXTRA_DUMP_ON_EXEC"}, false);
  // The debugger of ranks that differ switches the handling of errors on.
  return {
      .timed = timed || desync,
      .raises_late_errors = blocking || desync || handling != kNoHandling,
      .finds_nan = checks_nan && since_2_9_1,
      .dumps_on_abort = dumps && c10d::getCvarInt({"TORCH_MCCL_TRACE_BUFFER_SIZE"}, 2000) > 0};
}

} // namespace musasim::mccl
