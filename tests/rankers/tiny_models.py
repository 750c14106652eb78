"""Models of a few thousand random weights, saved as real ones are, for tests of local models."""

from __future__ import annotations

from pathlib import Path

import pytest

NLI_LABELS = ("contradiction", "entailment", "neutral")
WORDS = [
    "the",
    "tower",
    "opened",
    "in",
    "1889",
    "paris",
    "is",
    "large",
    "a",
    "red",
    "car",
    "came",
    "it",
    "closed",
    "query",
    ":",
]
MAX_TOKENS = 24

#: Marks tests that need what ``suffice[local]`` installs.
REASON = 'needs the local models: pip install ".[local]"'


def require_local() -> None:
    """Skip the test module without the packages of ``suffice[local]``."""
    for package in ("torch", "transformers", "sentence_transformers"):
        pytest.importorskip(package, reason=REASON)


def save_classifier(folder: Path, labels: tuple[str, ...] = NLI_LABELS, seed: int = 0) -> Path:
    """Save a BERT with a classification head; the same seed gives the same weights."""
    import torch
    from transformers import BertForSequenceClassification

    config = _config()
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: number for number, label in enumerate(labels)}
    torch.manual_seed(seed)
    BertForSequenceClassification(config).save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


def save_encoder(folder: Path, prompt: str | None = None) -> Path:
    """Save a sentence-transformers model with mean pooling; ``prompt`` is its default prompt."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertModel

    base = folder / "base"
    torch.manual_seed(0)
    BertModel(_config()).save_pretrained(base)
    _tokenizer().save_pretrained(base)
    prompts = {} if prompt is None else {"prompts": {"q": prompt}, "default_prompt_name": "q"}
    SentenceTransformer(str(base), device="cpu", **prompts).save_pretrained(str(folder / "model"))
    return folder / "model"


def _config():
    from transformers import BertConfig

    return BertConfig(
        vocab_size=5 + len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=MAX_TOKENS,
        pad_token_id=0,
        initializer_range=0.4,  # with the usual small weights all texts would be alike
    )


def _tokenizer():
    """Words by white space, with BERT's frame around a pair."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: number for number, word in enumerate([*special, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=MAX_TOKENS,
    )
