"""A plain extractive summariser: what a document says in its own most telling sentences.

Sentences are scored by how frequent their words are in the document (Luhn, "The Automatic Creation of
Literature Abstracts", 1958); the best are kept in their order.
"""

from __future__ import annotations

import re
from collections import Counter

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
_WORD = re.compile(r"[A-Za-z]{4,}")
_SPEECH = re.compile(r"[A-Z\"“].*[.!?]")
_COMMON = """
also does from have into must only other same such than that their them then there these they this used when where
which while will with would
"""
_WORDS_MIN, _WORDS_MAX = 6, 60
_NO_PROSE = (">>>", "::=", "***", "===", "---")


def summarise(text: str, sentences_max: int = 5) -> str:
    """The most telling sentences of `text`, one a line, in their order; empty if it has none."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if not any(sign in part for sign in _NO_PROSE)]
    sentences = [one for part in paragraphs for one in _SENTENCE.split(part)]
    common = set(_COMMON.split())
    weight = Counter(word for word in _words(text) if word not in common)
    scored: dict[str, tuple[float, int]] = {}
    for place, sentence in enumerate(sentences):
        words = _words(sentence)
        if _WORDS_MIN <= len(words) <= _WORDS_MAX and _SPEECH.fullmatch(sentence):
            scored.setdefault(sentence, (sum(weight[word] for word in words) / len(words), -place))
    best = sorted(scored, key=lambda sentence: scored[sentence], reverse=True)[:sentences_max]
    return "".join(f"- {sentence}\n" for sentence in sorted(best, key=lambda one: -scored[one][1]))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def page(name: str, text: str) -> str:
    """The whole output for one document."""
    return f"# {name}\n\n{summarise(text)}"
