"""Tasks that are run one by one in a process of their own, because a device may end it or hang.

`process` is our side of that process, `serve` what runs in it. `torchada verify` and `torchada bench` have tasks of this kind.
"""
