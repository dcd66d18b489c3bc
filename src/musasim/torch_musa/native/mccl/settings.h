#pragma once

namespace musasim::mccl {

// What the environment asks of a group: the variables that torch_musa's ProcessGroupMCCL reads when it is made.
struct Settings {
  // Whether operations record how long they take.
  bool timed = false;
  // Whether wait() raises the error of an operation that fails meanwhile. torch_musa's waits for the stream alone: with
  // TORCH_MCCL_ASYNC_ERROR_HANDLING=0 nobody ends the process, and the program goes on.
  bool raises_late_errors = true;

  // Raises for a value that torch_musa refuses, also of a variable that means nothing here.
  static Settings read();
};

} // namespace musasim::mccl
