"""mamba_ssm's Triton operations, forward and backward."""

import absent_extensions  # noqa: F401
import torch
from comparing import error, report, with_gradients
from mamba_ssm.ops.triton.layer_norm import layer_norm_fn, rms_norm_fn
from mamba_ssm.ops.triton.layernorm_gated import layernorm_fn, rms_norm_ref
from mamba_ssm.ops.triton.selective_state_update import selective_state_update, selective_state_update_ref
from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined
from torch.nn import functional as F


def state_update():
    state = torch.randn(2, 16, 8)
    inputs = [torch.randn(2, 16), torch.rand(2, 16), -torch.rand(16, 8), torch.randn(2, 8), torch.randn(2, 8)]
    # Without a bias and a gate, the package passes `*0` to its kernel, which is no list.
    inputs += [torch.rand(16), torch.randn(2, 16), torch.rand(16)]
    here = state.cuda()
    found = selective_state_update(here, *(each.cuda() for each in inputs), dt_softplus=True)
    return max(error(found, selective_state_update_ref(state, *inputs, dt_softplus=True)), error(here, state))


def scanned(x, dt, a, b, c):
    """The state-space model, one step after the other."""
    batch, length, heads, width = x.shape
    state, outputs = x.new_zeros(batch, heads, width, b.shape[-1]), []
    for t in range(length):
        step = (dt[:, t, :, None] * x[:, t])[..., None] * b[:, t, :, None, :]
        state = state * torch.exp(dt[:, t] * a)[..., None, None] + step
        outputs.append((state * c[:, t, :, None, :]).sum(-1))
    return torch.stack(outputs, 1)


def chunk_scan():
    inputs = [
        torch.randn(1, 32, 2, 16),
        torch.rand(1, 32, 2),
        -torch.rand(2),
        torch.randn(1, 32, 1, 16),
        torch.randn(1, 32, 1, 16),
    ]
    return with_gradients(lambda *each: mamba_chunk_scan_combined(*each, chunk_size=16), scanned, *inputs)


report(
    {
        "selective_state_update": state_update,
        "mamba_chunk_scan_combined": chunk_scan,
        "rms_norm": lambda: with_gradients(
            lambda x, w: rms_norm_fn(x, w, None, eps=1e-6),
            lambda x, w: F.rms_norm(x, (64,), w, 1e-6),
            torch.randn(4, 64),
            torch.rand(64),
        ),
        "layer_norm": lambda: with_gradients(
            lambda x, w, b: layer_norm_fn(x, w, b, eps=1e-6),
            lambda x, w, b: F.layer_norm(x, (64,), w, b, 1e-6),
            torch.randn(4, 64),
            torch.rand(64),
            torch.rand(64),
        ),
        "layernorm_gated": lambda: with_gradients(
            lambda x, w, z: layernorm_fn(x, w, None, z=z, is_rms_norm=True, eps=1e-5),
            lambda x, w, z: rms_norm_ref(x, w, None, z=z, eps=1e-5),
            torch.randn(4, 64),
            torch.rand(64),
            torch.randn(4, 64),
        ),
    }
)
