"""sentence-transformers: a tiny BERT made here, embeddings, a training step and similarity; einops on the way."""

import json
import sys
import tempfile

import torch
from einops import rearrange, reduce
from sentence_transformers import SentenceTransformer, losses
from sentence_transformers.models import Pooling, Transformer
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
torch.manual_seed(0)
words = {"[UNK]": 0, "[PAD]": 1, **{f"w{index}": index for index in range(2, 50)}}
tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = Whitespace()
with tempfile.TemporaryDirectory() as folder:
    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    words_to_vectors = Transformer(folder)
    model = SentenceTransformer(modules=[words_to_vectors, Pooling(32)], device=device)
sentences = ["w2 w3 w4", "w3 w4", "w9 w10 w11 w12"]
embedded = model.encode(sentences, convert_to_tensor=True, show_progress_bar=False)
similar = model.similarity(embedded, embedded)
features = {name: value.to(device) for name, value in model.tokenize(sentences[:2]).items() if torch.is_tensor(value)}
loss = losses.CosineSimilarityLoss(model)([features, dict(features)], torch.tensor([0.2, 0.9], device=device))
loss.backward()
halves = reduce(rearrange(embedded, "b (h d) -> b h d", h=2), "b h d -> b h", "mean")

print(
    json.dumps(
        {
            "devices": sorted({str(t.device) for t in (embedded, similar, loss, halves)}),
            "numbers": [embedded[0, :8].tolist(), similar.tolist(), halves.tolist()],
            "same": {},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
