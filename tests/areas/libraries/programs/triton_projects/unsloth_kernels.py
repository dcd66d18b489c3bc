"""unsloth's Triton kernels: losses, norms, rotary embeddings, gates with their gradients, LoRA's MLP, float8, grouped products."""

import torch
import unsloth  # noqa: F401 (its kernels must not be the first of it to be imported)
from comparing import error, report, with_gradients
from torch import nn
from torch.nn import functional as F
from unsloth import kernels
from unsloth.kernels import fast_lora, fp8
from unsloth.kernels.moe.grouped_gemm.interface import grouped_gemm
from unsloth.kernels.moe.grouped_gemm.kernels import tuning

ROWS, COLUMNS = 6, 48
LABELS = torch.tensor([[3, 47, -100], [20, 0, 11]])


def cross_entropy(vocabulary=COLUMNS, **options):
    def reference(logits):
        logits = logits * (options.get("logit_scaling") or 1)
        cap = options.get("logit_softcapping")
        logits = cap * torch.tanh(logits / cap) if cap else logits
        return F.cross_entropy(logits.flatten(0, 1), LABELS.flatten())

    return with_gradients(
        lambda logits: kernels.fast_cross_entropy_loss(logits * 1.0, LABELS.cuda(), **options),
        reference,
        torch.randn(2, 3, vocabulary),
    )


class Norm(nn.Module):
    """What unsloth takes for a norm of a model: a weight, perhaps a bias, and the epsilon."""

    variance_epsilon = eps = 1e-6
    elementwise_affine = True

    def __init__(self, weight, bias=None):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), None if bias is None else nn.Parameter(bias)


def rms_norm(gemma):
    weight = torch.rand(COLUMNS)
    norm = Norm(weight.cuda())
    reference_weight = weight + 1 if gemma else weight
    return with_gradients(
        lambda x: kernels.fast_rms_layernorm(norm, x * 1.0, gemma=gemma),
        lambda x: F.rms_norm(x, (COLUMNS,), reference_weight, 1e-6),
        torch.randn(ROWS, COLUMNS),
    )


def layer_norm():
    weight, bias = torch.rand(COLUMNS), torch.rand(COLUMNS)
    norm = Norm(weight.cuda(), bias.cuda())
    return with_gradients(
        lambda x: kernels.fast_layernorm(norm, x * 1.0),
        lambda x: F.layer_norm(x, (COLUMNS,), weight, bias, 1e-6),
        torch.randn(2, 3, COLUMNS),
    )


def rope():
    angle = torch.rand(8, 8).repeat(1, 2)
    cos, sin = angle.cos(), angle.sin()

    def turned(q, k):
        return torch.cat([x * cos + torch.cat([-x[..., 8:], x[..., :8]], -1) * sin for x in (q, k)], 1)

    def ours(q, k):
        found = kernels.fast_rope_embedding(q * 1.0, k * 1.0, cos.cuda(), sin.cuda())
        return torch.cat(found, 1)

    return with_gradients(ours, turned, torch.randn(2, 4, 8, 16), torch.randn(2, 2, 8, 16))


def gate(forward, backward, activation):
    gate, up, d = torch.randn(2, 3, COLUMNS), torch.randn(2, 3, COLUMNS), torch.randn(6, COLUMNS)
    found = forward(gate.cuda(), up.cuda())
    g, u = (each.flatten(0, 1).requires_grad_() for each in (gate, up))
    expected = activation(g) * u
    expected.backward(d)
    # The kernel writes the result, the gate's part for the weight and the gate's gradient in the place of its inputs.
    h, df, de = backward(*(each.clone().cuda() for each in (d, g.detach(), u.detach())))
    return max(error(found.flatten(0, 1), expected), error(h, expected), error(df, u.grad), error(de, g.grad))


class Adapted(nn.Module):
    """A linear layer with an adapter, as peft makes them."""

    disable_adapters = merged = False
    active_adapters = ("default",)

    def __init__(self, inputs, outputs):
        super().__init__()
        self.base_layer = nn.Linear(inputs, outputs, bias=False).requires_grad_(False)
        self.lora_A = nn.ModuleDict({"default": nn.Linear(inputs, 4, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(4, outputs, bias=False)})
        self.lora_dropout = nn.ModuleDict({"default": nn.Identity()})
        self.scaling, self.use_dora = {"default": 0.5}, {"default": False}

    def forward(self, x):
        return self.base_layer(x) + self.lora_B["default"](self.lora_A["default"](x)) * 0.5


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = Adapted(16, 32), Adapted(16, 32), Adapted(32, 16)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


def lora_mlp():
    plain, adapted = Mlp(), Mlp().cuda()
    adapted.load_state_dict(plain.state_dict())
    x = torch.randn(2, 3, 16)
    expected, found = plain(x), fast_lora.apply_lora_mlp_swiglu(adapted, x.cuda(), inplace=False)
    for each in (expected, found):
        each.square().sum().backward()
    pairs = zip(adapted.parameters(), plain.parameters())
    return max([error(found, expected), *(error(a.grad, b.grad) for a, b in pairs if b.grad is not None)])


def block_dequantized():
    x, scales = torch.randn(128, 128).to(torch.float8_e4m3fn), torch.rand(2, 2)
    found = fp8.weight_dequant_block(x.cuda(), scales.cuda(), 64, torch.float32)
    return error(found, x.float() * scales.repeat_interleave(64, 0).repeat_interleave(64, 1))


def quantized():
    x = torch.randn(4, 256)
    found, scales = fp8.act_quant(x.cuda(), 128)
    expected = x.view(4, 2, 128).abs().amax(-1) / 448
    rounded = (x.view(4, 2, 128) / expected[..., None]).to(torch.float8_e4m3fn)
    return max(error(scales, expected), error(found, rounded.view(4, 256)))


def block_product():
    a, b = (torch.randn(32, 128).to(torch.float8_e4m3fn) for _ in range(2))
    of_a, of_b = torch.rand(32, 1), torch.rand(1, 1)
    found = fp8.w8a8_block_fp8_matmul_triton(a.cuda(), b.cuda(), of_a.cuda(), of_b.cuda(), [128, 128])
    expected = (a.float() * of_a) @ (b.float() * of_b).t()
    return error(found, expected) / expected.abs().max().item()


def grouped():
    sizes = torch.tensor([3, 0, 5], dtype=torch.int32)
    owner = torch.arange(3).repeat_interleave(sizes)
    configs = tuning.KernelConfigForward(), tuning.KernelConfigBackward_dX(), tuning.KernelConfigBackward_dW()

    def ours(x, weight):
        fwd, dx, dw = configs
        options = {"kernel_config_fwd": fwd, "kernel_config_bwd_dX": dx, "kernel_config_bwd_dW": dw}
        return grouped_gemm(x * 1.0, weight * 1.0, sizes.cuda(), topk=1, **options)

    def reference(x, weight):
        return torch.stack([weight[owner[row]] @ x[row] for row in range(8)])

    return with_gradients(ours, reference, torch.randn(8, 32), torch.randn(3, 32, 32))


report(
    {
        "cross_entropy": cross_entropy,
        "cross_entropy_capped": lambda: cross_entropy(logit_softcapping=3.0),
        "cross_entropy_scaled": lambda: cross_entropy(logit_scaling=0.25),
        "cross_entropy_in_chunks": lambda: cross_entropy(70000),
        "rms_norm": lambda: rms_norm(False),
        "rms_norm_of_gemma": lambda: rms_norm(True),
        "layer_norm": layer_norm,
        "rope": rope,
        "swiglu": lambda: gate(kernels.swiglu_fg_kernel, kernels.swiglu_DWf_DW_dfg_kernel, F.silu),
        "geglu_exact": lambda: gate(kernels.geglu_exact_forward_kernel, kernels.geglu_exact_backward_kernel, F.gelu),
        "geglu_approximated": lambda: gate(
            kernels.geglu_approx_forward_kernel,
            kernels.geglu_approx_backward_kernel,
            lambda x: F.gelu(x, approximate="tanh"),
        ),
        "lora_mlp": lora_mlp,
        "block_dequantized": block_dequantized,
        "quantized": quantized,
        "block_product": block_product,
        "grouped_gemm": grouped,
    }
)
