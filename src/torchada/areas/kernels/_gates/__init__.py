"""Gates in C++: what decides, for each call on the device, whether torchada's kernel in Python computes it, or the device's own.

`operators` names them, `source` writes the C++, `build` has it compiled in the background, once for each PyTorch, `library` loads
it, and `gates` opens the gates when the program first uses the device. csrc/gate.h is the C++ side.
"""
