"""`torchada bench`: the same programs on the device and on the CPU, and how their times compare.

The programs are in `torch_battery.speed_table`; each is run in a process that is replaced when it crashes or hangs.
"""
