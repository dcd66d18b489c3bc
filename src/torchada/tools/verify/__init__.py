"""`torchada verify`: whether the device computes what the CPU computes, by a battery of CUDA programs.

The programs are in `torch_battery`, which knows nothing of torchada. Here they are chosen, run one by one in a process of their
own, and reported.
"""
