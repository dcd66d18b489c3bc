"""What looks like a secret in arguments and values is masked, and nothing else is."""

from __future__ import annotations

import pytest

from torchada.base.private import is_secret, masked, masked_command

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("--token=SECRET", "--token=***"),
        ("--hf_token=SECRET", "--hf_token=***"),
        ("--db-password=a=b", "--db-password=***"),
        ("WANDB_API_KEY=SECRET", "WANDB_API_KEY=***"),
        ("trainer.auth:SECRET", "trainer.auth:***"),
        ("https://u:SECRET@h/x", "https://***@h/x"),
        ("postgres://SECRET@h", "postgres://***@h"),
        ("https://h/x?access_token=SECRET&y=1", "https://h/x?access_token=***&y=1"),
        ("see hf_SECRETSECRETSECRET there", "see *** there"),
        ("ghp_SECRETSECRETSECRET", "***"),
        ("--epochs=3", "--epochs=3"),
        ("user@host:/path", "user@host:/path"),
        ("https://h/x?y=1", "https://h/x?y=1"),
        ("/data/hf_models/sk-1", "/data/hf_models/sk-1"),
    ],
)
def test_an_argument(given: str, shown: str) -> None:
    assert masked(given) == shown


def test_what_follows_an_option_is_masked() -> None:
    command = ["train.py", "--token", "SECRET", "--password", "--epochs", "3", "-api_key", "SECRET"]
    assert masked_command(command) == ["train.py", "--token", "***", "--password", "--epochs", "3", "-api_key", "***"]


def test_time_is_in_proportion_to_the_length() -> None:
    for unit in ("token", "a://", "?token=", "-", "://@", "hf_", "=token"):
        assert masked(unit * 20_000) is not None


@pytest.mark.parametrize(("name", "answer"), [("HUB_TOKEN", True), ("MyPassword", True), ("TORCHADA_NATIVE", False)])
def test_a_name(name: str, answer: bool) -> None:
    assert is_secret(name) is answer
