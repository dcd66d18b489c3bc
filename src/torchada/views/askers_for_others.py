"""Modules of torch, and one of torchada, that ask on behalf of the program that uses them, which therefore get the program's view.

A module is here if what it asks decides what the program gets, and if nothing else in it needs the backend's own names. Everything
else in torch sees the backend: it compares with the backend's names, or asks about NVIDIA's libraries.
"""

from __future__ import annotations

ON_BEHALF: dict[str, str] = {
    "torch._dynamo.test_case": "it decides whether a file of tests runs",
    "torch._tensor_str": "it prints tensors for the program",
    "torch.accelerator._utils": "it says which device a program should have named",
    "torch.cuda._memory_viz": "it draws the memory of the devices that a profile of the program names",
    "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook": "it decides whether a hook waits for the GPU",
    "torch.distributed.checkpoint._state_dict_stager": "it decides whether the pinned memory that was asked for is used",
    "torch.fx.graph": "it writes the code of a graph, which the program reads",
    "torch.fx.node": "it shows what a node of a graph is called with",
    "torch.nn.modules._functions": "it decides whether batches are counted on the CPU, which a graph must not record",
    "torch.nn.parallel.data_parallel": "it chooses the devices of the program, and its error names them",
    "torch.profiler.profiler": "it chooses the device whose memory a profile shows",
    "torch.testing": "it decides which of PyTorch's own tests run, and its errors name the devices of the program",
    "torch.utils.benchmark": "it decides whether a measurement waits for the GPU",
    "torch.utils.bottleneck": "it decides whether a profile contains the GPU",
    "torch.utils.collect_env": "it describes the user's machine",
    "torch.utils.viz": "it draws the memory of the devices that the program uses",
    "torchada.redirect.backend_words": "it makes texts of torch and its adapter, which the program reads",
}


def asks_on_behalf(name: str) -> bool:
    """Whether the module `name`, or one that it is in, asks for the program."""
    while name and name not in ON_BEHALF:
        name = name.rpartition(".")[0]
    return bool(name)
