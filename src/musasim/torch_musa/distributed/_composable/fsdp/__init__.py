"""What torch_musa changes of torch.distributed.fsdp.fully_shard."""
