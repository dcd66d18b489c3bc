"""The namespaces called `cuda` that are CUDA's or PyTorch's: whose they are in, and what they hold."""

import re

HOLDERS = (b"at", b"c10", b"torch", b"caffe2", b"thrust", b"cub")

_LIBCUXX = (
    "std|ptx|experimental|device|mr|atomic_\\w+|atomic|memory_order\\w*|barrier|latch|pipeline\\w*|thread_scope\\w*|memcpy_async"
    "|aligned_size_t|stream_ref"
    "|annotated_ptr|\\w*access_property|discard_memory|(?:counting|binary)_semaphore|maximum|minimum|proclaim_return_type"
    "|get_property|ceil_div|make_pipeline"
)
_PYTORCH = (
    "(?:get|set|is)[A-Z]\\w*|(?:Optional)?CUDA[A-Z]\\w*|(?:Get|Set|Exchange|Maybe)\\w*Device\\w*|current_device|set_device"
    "|device_count\\w*|device_synchronize|stream_synchronize|memcpy_and_sync|warn_or_error_on_sync|warp_size|blas|sparse|solver"
    "|jit|nccl|philox|tunable|ScalarTypeToCudaDataType|graph_pool_handle|MempoolId_t"
)
MEMBERS = re.compile(rb"\s{0,80}::\s{0,80}(?:%b)(?!\w)" % f"{_LIBCUXX}|{_PYTORCH}".encode())
"""What follows `cuda` where it stands by itself: `cuda::std`, `cuda::getCurrentCUDAStream`."""
