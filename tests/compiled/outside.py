"""Patches that no compiled function reaches, by the places they change (patterns), with a category and the reason."""

from __future__ import annotations

# definition: called where operators and kernels are defined, before anything is compiled; compiled code runs what was registered.
# process: concerns processes, files or libraries, and is no computation.
# table: data that torch's own code reads, not called by programs. The programs that depend on it are named.
OUTSIDE: dict[str, tuple[str, str]] = {
    "torch._C._dispatch_library": ("definition", "library_kernel runs what it has registered"),
    "torch._C._DispatchModule.*": ("definition", "library_kernel runs what they have registered"),
    "torch.library.Library.impl": ("definition", "library_kernel runs what it has registered"),
    "torch.library.register_autocast": ("definition", "a rule for autocast is given when the operator is"),
    "torch._library.custom_ops.CustomOpDef.register_autocast": (
        "definition",
        "a rule for autocast is given when the operator is",
    ),
    "torch._library.custom_ops._cast": ("definition", "a rule for autocast is given when the operator is"),
    "torch._library.custom_ops.CustomOpDef.register_kernel": ("definition", "custom_op runs what it has registered"),
    "torch._ops.OperatorBase.py_impl": ("definition", "Python kernels are given when the operator is defined"),
    "torch._custom_op.impl.CustomOp.*": ("definition", "asked when a kernel is registered"),
    "torch.testing._internal.optests*": ("definition", "opcheck tests an operator, and compiles it itself"),
    "torch._C._dispatch_get_computed_kernel_for_dispatch_key": (
        "definition",
        "its answer is a handle, for registering a kernel",
    ),
    "torch._C._dispatch_print_registrations_for_dispatch_key": ("process", "prints"),
    "torch._C._dispatch_key_for_device": ("definition", "asked when a kernel is registered for a device"),
    "torch._C._IncludeDispatchKeyGuard.__init__": ("definition", "for kernels, which run below the compiler"),
    "torch.ops.higher_order.* falls through *": (
        "table",
        "keys that the dispatcher skips: conditional, checkpoint_under_autocast",
    ),
    "torch.ops.higher_order.*: Autocast*": ("table", "kernels under autocast: flex_attention, conditional"),
    "torch.ops.higher_order.*: CUDA *": ("table", "kernels of random operators: checkpoint"),
    "torch._dynamo.*": ("table", "torch.compile's own: is_cuda, stream_context_of_none, handles"),
    "* under torch.compile *": ("table", "torch.compile's own: each name has a program"),
    "torch._prims.rng_prims.get_device": ("table", "asked by the kernels of random operators: checkpoint"),
    "device strings: *": ("table", "PyTorch's own parser: every program that names a device"),
    "TorchScript knows the functions above as builtins *": ("table", "TorchScript's"),
    "torch.jit.*": ("process", "TorchScript's own: what parses a program, and what writes a file"),
    "torch._C.import_ir_module*": ("process", "reads a TorchScript file"),
    "torch.export.passes.move_to_device_pass": ("process", "changes an exported program"),
    "torch._inductor.*": ("table", "Inductor's own, which makes code of graphs: areas/test_inductor.py"),
    "torch_musa.random": ("table", "a module that others look for by its name"),
    "torch.Tensor._make_wrapper_subclass": ("definition", "for the __new__ of subclasses, which is not compiled"),
    "torch.multiprocessing.reductions.reduce_tensor": ("process", "pickles a tensor for another process"),
    "os.putenv": ("process", "the environment"),
    "os.unsetenv": ("process", "the environment"),
    "ctypes.CDLL.__init__": ("process", "loads a library"),
    "ctypes.util.find_library": ("process", "looks for a library"),
    "torch.cuda.jiterator._JittedFunction.__call__": (
        "process",
        "refuses; kernels are made of source when a module is imported",
    ),
    "torch.backends.cudnn.rnn.*": ("process", "refuses; called by no public function"),
    "torch.cuda._sanitizer.CUDASanitizer.enable": ("process", "refuses; switched on for a whole process"),
    "torch._C._share_cuda_": ("process", "shares memory with another process"),
    "torch._C._new_shared_cuda": ("process", "shares memory with another process"),
    "torch._C._release_ipc_counter_cuda": ("process", "shares memory with another process"),
    "torch._C._nccl_init_rank": ("process", "refuses; makes a process one of several"),
    "torch._C._cuda_init": ("process", "initialises, once in a process"),
    "torch._C._cuda_CUDAAllocator": ("process", "a type of allocators, which are chosen for a whole process"),
    "torch._C._cuda_customAllocator": ("process", "allocators are chosen for a whole process"),
    "torch._C._cuda_changeCurrentAllocator": ("process", "allocators are chosen for a whole process"),
    "torch._C._cuda_register_unified_*": ("process", "allocators are chosen for a whole process"),
    "torch._C._cuda_reset_unified_*": ("process", "allocators are chosen for a whole process"),
    "torch._C._cuda_attach_out_of_memory_observer": ("process", "an observer for a whole process"),
    "torch._C._cuda_cudaCachingAllocator_*": ("process", "settings of the allocator; takes addresses"),
    "torch._C._cuda_*AllocateCurrentStreamToPool": ("process", "called by use_mem_pool: pool"),
    "torch._C._cuda_beginAllocateToPool": ("process", "called by use_mem_pool: pool"),
    "torch._C._cuda_releasePool": ("process", "called by use_mem_pool: pool"),
    "torch._C._cuda_CUDAAllocator_AllocatorState": ("process", "a type of what graph trees keep between replays"),
    "torch._C._cuda_*Checkpoint*State": ("process", "called by graph trees, between replays"),
    "torch._C._cuda_checkPoolLiveAllocations": ("process", "called by graph trees, between replays"),
    "torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata": ("process", "called by graph trees, between replays"),
    "torch._C._cuda_sleep": ("process", "occupies the device, without a result"),
    "torch.autograd.profiler*": ("process", "what a profiler makes of events when it has ended"),
    "torch.distributed.*": (
        "process",
        "groups are made outside of graphs; collectives inside: test_distributed_ranks.py",
    ),
    "torch._C._distributed_c10d.*": ("process", "groups of processes, as torch.distributed"),
    "torch_musa._MUSAC.ProcessGroupMCCL.*": ("process", "options of a process group"),
    "torch.nn.parallel.distributed.*": ("process", "a hook is registered before anything is compiled"),
    "NCCL_* in the environment *": ("process", "the environment"),
    "torch.nn.attention.varlen.varlen_attn_out": ("process", "as varlen_attn, into a given tensor"),
}
# Of them, those that not every torch and not every mechanism has.
NOT_EVERYWHERE = frozenset(
    {
        "device strings: *",
        "torch._library.custom_ops._cast",
        "torch._C._dispatch_key_for_device",
        "torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata",
    }
)
