"""torch.cuda and what runs on its devices: names, properties, memory, streams, graphs, copies, the profiler, torch.accelerator."""

AREAS = {
    "torch": (
        "names",
        "c_functions",
        "devices",
        "memory",
        "monitoring",
        "questions",
        "sparse",
        "sync_debug",
        "absent",
        "streams",
        "graphs",
        "optimizer_captures",
        "pools",
        "visible_devices",
        "allocator_settings",
        "profiler",
        "nvtx",
        "comm",
        "nccl",
        "lacking",
        "accelerator",
    ),
    "torch.cuda._sanitizer": ("sanitizer",),
    "torch.cuda._graph_annotations": ("graph_annotations",),
}
