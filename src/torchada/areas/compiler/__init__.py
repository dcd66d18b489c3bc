"""Code that is compiled or traced: torch.compile with Dynamo and Inductor, torch.export, TorchScript and its files."""

AREAS = {
    "torch": ("jit", "script_builtins", "script_archives", "aot_inductor.runner"),
    "torch._dynamo": ("dynamo", "dynamo_constants", "dynamo_views"),
    "torch._dynamo.backends.cudagraphs": ("inductor_graphs.dynamos_backend",),
    "torch._dynamo.device_interface": ("device_interface",),
    "torch._functorch._aot_autograd.autograd_cache": ("autograd_cache",),
    "torch._inductor.codegen.common": ("inductor_devices.cpu", "inductor_devices.tables"),
    "torch._inductor.choices": ("inductor_devices.candidates",),
    "torch._inductor.compile_fx": ("inductor_graphs.stash", "inductor_devices.current_device"),
    "torch._inductor.output_code": ("inductor_graphs.backward",),
    "torch._inductor.cudagraph_trees": ("inductor_graphs.steps",),
    "torch._inductor.codecache": ("inductor_caches.key", "inductor_caches.generated_modules"),
    "torch._inductor.autotune_process": ("inductor_devices.subprocesses",),
    "torch._inductor.runtime.triton_helpers": ("inductor_triton.driver",),
    "torch._inductor.heuristics.registry": ("inductor_devices.moved_heuristics",),
    "torch._inductor.template_heuristics.registry": ("inductor_devices.heuristics",),
    "torch.export.passes": ("export",),
    "torch._export.serde.serialize": ("export_files",),
    "torch._inductor.package.package": ("aot_inductor.metadata",),
}
