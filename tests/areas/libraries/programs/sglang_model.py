"""Writes a random Llama of two layers with its tokenizer to a folder; prints what transformers generates with it on the CPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder = Path(sys.argv[1])
SPECIAL = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
words = [*SPECIAL.values(), *(f"w{i}" for i in range(253))]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL)
fast.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
fast.save_pretrained(folder)

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=len(words),
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    bos_token_id=1,
    eos_token_id=2,
    initializer_range=0.3,  # so that no two words are equally likely
)
model = LlamaForCausalLM(config).eval()
model.save_pretrained(folder)

# A chat has no token in front.
prompts = [[1, 10, 20, 30], [5, 6, 7, 8, 9, 100, 101], [1, *range(40, 80)]]
generated = []
for prompt in prompts:
    tokens = model.generate(
        torch.tensor([prompt]), max_new_tokens=16, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    generated.append(tokens[0, len(prompt) :].tolist())
print(json.dumps({"prompts": prompts, "generated": generated, "words": words}))
