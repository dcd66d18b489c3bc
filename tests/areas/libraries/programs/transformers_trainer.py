"""A tiny BERT through `Trainer`, in two precisions, with evaluation, a checkpoint to go on from, and a `pipeline` at the end."""

import json
import sys
import tempfile

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    pipeline,
)

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"


class Sentences(torch.utils.data.Dataset):
    """Whether token 5 occurs."""

    def __len__(self):
        return 48

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        tokens = torch.randint(6, 50, (12,), generator=generator)
        if index % 2:
            tokens[index % 12] = 5
        return {"input_ids": tokens, "attention_mask": torch.ones(12, dtype=torch.long), "labels": index % 2}


def model_init(dropout=0.0):
    torch.manual_seed(0)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=50,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=16,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
    )


def trained(folder, model, resume=None, **options):
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=8,
        learning_rate=5e-3,
        logging_steps=1,
        eval_strategy="epoch",
        save_strategy="epoch",
        report_to="none",
        disable_tqdm=True,
        use_cpu=device == "cpu",
        seed=1,
        **options,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=Sentences(), eval_dataset=Sentences())
    trainer.train(resume_from_checkpoint=resume)
    return trainer, [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


with tempfile.TemporaryDirectory() as folder:
    trainer, losses = trained(folder, model_init(), optim="adamw_torch_fused")
    evaluation = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
    logits = trainer.predict(Sentences()).predictions
with tempfile.TemporaryDirectory() as folder:
    lower, lower_losses = trained(folder, model_init(), bf16=True, gradient_checkpointing=True, torch_compile=False)
with tempfile.TemporaryDirectory() as folder:
    _, dropped = trained(folder, model_init(0.1))
    _, resumed = trained(folder, model_init(0.1), resume=f"{folder}/checkpoint-6")

words = {"[UNK]": 0, "[PAD]": 1, **{f"w{index}": index for index in range(2, 50)}}
tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = Whitespace()
classify = pipeline(
    "text-classification",
    model=trainer.model,
    tokenizer=PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"),
    device=0 if device == "cuda" else -1,
)
answers = classify(["w5 w7 w9", "w8 w10"], batch_size=2)

print(
    json.dumps(
        {
            "devices": sorted({str(p.device) for t in (trainer, lower) for p in t.model.parameters()}),
            "numbers": {
                "losses": losses,
                "evaluation": evaluation,
                "logits": logits[:3].tolist(),
                "answers": [answer["score"] for answer in answers],
            },
            "rough": {"bfloat16": lower_losses},
            "same": {"labels": [answer["label"] for answer in answers]},
            "pipeline": str(classify.device),
            "resumed exactly": resumed == dropped,
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
