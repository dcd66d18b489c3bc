#pragma once

namespace musasim::mccl {

// What the environment asks of a group: the variables that torch_musa's ProcessGroupMCCL reads when it is made.
struct Settings {
  // Whether operations record how long they take.
  bool timed = false;
  // Whether wait() raises the error of an operation that fails meanwhile. torch_musa's waits for the stream alone: with
  // TORCH_MCCL_ASYNC_ERROR_HANDLING=0 nobody ends the process, and the program goes on.
  bool raises_late_errors = true;

  // Whether operations refuse to begin where an input has a value that is not a number. Releases before 2.9.1 read the variable, and
  // do not check.
  bool finds_nan = false;

  // Whether a group that is aborted leaves the newest operations in a file. Releases before 2.11.0 do not know the variable.
  bool dumps_on_abort = false;

  // Whether a release from 2.9.1 on is simulated; process_group.py says so.
  static inline bool since_2_9_1 = false;

  // Raises for a value that torch_musa refuses, also of a variable that means nothing here.
  static Settings read();
};

} // namespace musasim::mccl
