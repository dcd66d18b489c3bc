"""Names of CUDA's libraries and what they are called on MUSA: prefix rules with exceptions, one small table for each library."""

from __future__ import annotations

from torchada.porting.rules.absent import ABSENT
from torchada.porting.rules.cccl import CCCL, CUTLASS
from torchada.porting.rules.compiler import COMPILER
from torchada.porting.rules.cublas import CUBLAS
from torchada.porting.rules.cudnn import CUDNN
from torchada.porting.rules.cufft import CUFFT
from torchada.porting.rules.cufile import CUFILE
from torchada.porting.rules.cupti import CUPTI
from torchada.porting.rules.curand import CURAND
from torchada.porting.rules.cusolver import CUSOLVER
from torchada.porting.rules.cusparse import CUSPARSE
from torchada.porting.rules.driver import DRIVER
from torchada.porting.rules.library import Library
from torchada.porting.rules.nccl import NCCL
from torchada.porting.rules.npp import NPP
from torchada.porting.rules.nvjpeg import NVJPEG
from torchada.porting.rules.nvrtc import NVRTC
from torchada.porting.rules.nvtx import NVTX
from torchada.porting.rules.runtime import RUNTIME
from torchada.porting.rules.torch import TORCH
from torchada.porting.rules.types import TYPES

# The first that recognises a name owns it.
LIBRARIES: tuple[Library, ...] = (
    COMPILER,
    TORCH,
    TYPES,
    CUBLAS,
    CUDNN,
    CUFFT,
    CURAND,
    CUSOLVER,
    CUSPARSE,
    CUTLASS,
    CUFILE,
    CUPTI,
    NCCL,
    NVRTC,
    NVTX,
    NVJPEG,
    NPP,
    RUNTIME,
    DRIVER,
    CCCL,
    ABSENT,
)
