"""A tiny diffusion model: some steps of training, then pipelines that sample from it, whole, offloaded and from a file."""

import json
import sys
import tempfile

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DConditionModel, UNet2DModel

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
compiler = sys.argv[2] if len(sys.argv) > 2 else "aot_eager"
torch.manual_seed(0)

unet = UNet2DModel(
    sample_size=8,
    in_channels=3,
    out_channels=3,
    layers_per_block=1,
    block_out_channels=(16, 16),
    norm_num_groups=4,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
).to(device)
noise_scheduler = DDPMScheduler(num_train_timesteps=20)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
generator = torch.Generator().manual_seed(1)
images = torch.rand(4, 3, 8, 8, generator=generator).to(device)
losses = []
for _ in range(3):
    noise = torch.randn(images.shape, generator=generator).to(device)
    steps = torch.randint(0, 20, (4,), generator=generator).to(device)
    predicted = unet(noise_scheduler.add_noise(images, noise, steps), steps).sample
    loss = torch.nn.functional.mse_loss(predicted, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())

pipeline = DDPMPipeline(unet, DDIMScheduler(num_train_timesteps=20)).to(device)
pipeline.set_progress_bar_config(disable=True)
sample = pipeline(generator=torch.Generator().manual_seed(2), num_inference_steps=3, output_type="np").images
with tempfile.TemporaryDirectory() as folder:
    pipeline.save_pretrained(folder)
    again = DDPMPipeline.from_pretrained(folder, dtype=torch.float32).to(device)
    again.set_progress_bar_config(disable=True)
    reloaded = again(generator=torch.Generator().manual_seed(2), num_inference_steps=3, output_type="np").images
    lower = UNet2DModel.from_pretrained(folder, subfolder="unet", dtype=torch.bfloat16).to(device)
if device == "cuda":
    again.enable_model_cpu_offload()
    offloaded = again(generator=torch.Generator().manual_seed(2), num_inference_steps=3, output_type="np").images
    own = pipeline(generator=torch.Generator(device).manual_seed(2), num_inference_steps=2, output_type="np").images
    assert own.shape == sample.shape
else:
    offloaded = reloaded

conditioned = UNet2DConditionModel(
    sample_size=8,
    in_channels=4,
    out_channels=4,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=4,
    cross_attention_dim=16,
    attention_head_dim=4,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
).to(device)
autoencoder = AutoencoderKL(
    block_out_channels=(8,), norm_num_groups=4, latent_channels=4, layers_per_block=1, sample_size=8
).to(device)
with torch.no_grad():
    latents = autoencoder.encode(images).latent_dist.mode()
    text = torch.rand(4, 5, 16, generator=generator).to(device)
    eager = conditioned(latents, 3, encoder_hidden_states=text).sample
    compiled = torch.compile(conditioned, backend=compiler)(latents, 3, encoder_hidden_states=text).sample
    decoded = autoencoder.decode(eager).sample
    half = lower(images.to(torch.bfloat16), 3).sample

print(
    json.dumps(
        {
            "devices": sorted({str(t.device) for t in (eager, compiled, decoded, half)} | {str(pipeline.device)}),
            "numbers": {
                "losses": losses,
                "sample": sample.ravel()[::24].tolist(),
                "reloaded": reloaded.ravel()[::24].tolist(),
                "offloaded": offloaded.ravel()[::24].tolist(),
                "conditioned": eager.flatten()[::100].tolist(),
                "compiled": compiled.flatten()[::100].tolist(),
                "decoded": decoded.flatten()[::100].tolist(),
            },
            "rough": {"bfloat16": half.flatten()[::100].tolist()},
            "same": {},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
