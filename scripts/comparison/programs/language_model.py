"""Trains a tiny Llama of transformers and generates with it."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, pad_token_id=0
)
model = LlamaForCausalLM(config).cuda()
tokens = torch.randint(1, 64, (4, 16)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(5):
    loss = model(input_ids=tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
made = model.eval().generate(tokens[:1, :4], max_new_tokens=6, do_sample=False)
print("tokens", made.sum().item())
print("loss", loss.item())
