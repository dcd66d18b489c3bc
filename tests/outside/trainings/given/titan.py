"""A model and data for torchtitan: its small Llama with two layers, and random sequences that depend on their number alone.

`--experimental.custom_import titan --model.name two_layers` takes them.
"""

import dataclasses

import torch
from torch.utils.data import IterableDataset
from torchtitan.components.dataloader import ParallelAwareDataloader
from torchtitan.models.llama3 import get_train_spec, llama3_args
from torchtitan.protocols.train_spec import register_train_spec


class Sequences(IterableDataset):
    """Of all sequences those of one rank, so that a batch of all ranks together is the same on any number of them."""

    def __init__(self, rank, size, length, words):
        self.rank, self.size, self.length, self.words, self.number = rank, size, length, words, 0

    def __iter__(self):
        while True:
            numbers = torch.Generator().manual_seed(self.number * self.size + self.rank)
            sequence = torch.randint(self.words, (self.length + 1,), generator=numbers)
            self.number += 1
            yield {"input": sequence[:-1]}, sequence[1:]

    def state_dict(self):
        return {"number": self.number}

    def load_state_dict(self, state):
        self.number = state["number"]


def sequences(dp_world_size, dp_rank, tokenizer, job_config, infinite=True):
    data = Sequences(dp_rank, dp_world_size, job_config.training.seq_len, 64)
    batch = job_config.training.local_batch_size
    return ParallelAwareDataloader(data, dp_rank=dp_rank, dp_world_size=dp_world_size, batch_size=batch)


two_layers = dataclasses.replace(llama3_args["debugmodel"], n_layers=2, dim=64, n_heads=4, vocab_size=64)
register_train_spec(
    "two_layers",
    dataclasses.replace(
        get_train_spec(),
        model_args={"small": two_layers},
        build_dataloader_fn=sequences,
        build_tokenizer_fn=None,
        build_validator_fn=None,
    ),
)
