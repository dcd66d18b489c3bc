"""A tiny BERT through transformers' Trainer, which joins the processes that torchrun has started. With an argument, by FSDP."""

import os
import sys
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

BATCH = 16


class Sentences(torch.utils.data.Dataset):
    """Whether token 5 occurs."""

    def __len__(self):
        return 96

    def __getitem__(self, index):
        tokens = torch.randint(6, 50, (12,), generator=torch.Generator().manual_seed(index))
        if index % 2:
            tokens[index % 12] = 5
        return {"input_ids": tokens, "attention_mask": torch.ones(12, dtype=torch.long), "labels": index % 2}


torch.manual_seed(0)
model = BertForSequenceClassification(
    BertConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
)
ranks = int(os.environ.get("WORLD_SIZE", 1))
options = {"fsdp": "full_shard auto_wrap", "fsdp_config": {"transformer_layer_cls_to_wrap": ["BertLayer"]}}
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        per_device_train_batch_size=BATCH // ranks,
        learning_rate=5e-3,
        logging_strategy="epoch",
        eval_strategy="epoch",
        save_strategy="epoch",
        report_to="none",
        disable_tqdm=True,
        seed=1,
        use_cpu=not torch.cuda.is_available(),
        **(options if sys.argv[1:] else {}),
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=Sentences(), eval_dataset=Sentences())
    rank, mode = trainer.args.process_index, trainer.args.parallel_mode.value
    print(f"[rank {rank} of {trainer.args.world_size}] {trainer.args.device}: {mode}", flush=True)
    trainer.train()
    if rank == 0:
        for entry in trainer.state.log_history:
            if "eval_loss" in entry:
                print(f"epoch {entry['epoch']:.0f}: loss {entry['eval_loss']:.6f}", flush=True)
