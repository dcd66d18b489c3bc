"""torch.cuda and what runs on its devices: names, properties, memory, streams, graphs, copies, the profiler, torch.accelerator."""

AREAS = {
    "torch": (
        "names",
        "availability",
        "c_functions",
        "devices",
        "capability",
        "memory",
        "monitoring",
        "sparse",
        "sync_debug",
        "absent",
        "streams",
        "graphs",
        "pools",
        "visible_devices",
        "profiler",
        "nvtx",
        "comm",
        "nccl",
        "lacking",
        "accelerator",
    ),
    "torch.utils.collect_env": ("collect_env",),
    "torch.cuda._sanitizer": ("sanitizer",),
    "torch.cuda._graph_annotations": ("graph_annotations",),
}
