"""What torch_musa tells PyTorch about operators that its own torch declares, and about some that it refuses."""

from . import _flash_attention as _flash_attention
from . import _fused_adam as _fused_adam
from . import _grouped_matmul as _grouped_matmul
from . import _nested as _nested
from . import _packed_weights as _packed_weights
from . import _sparse as _sparse
from . import register_fake_impl

__all__ = ["register_fake_impl"]
