"""The demo's "agent": a plain extractive summariser, and the documents that it reads.

Sentences are scored by how frequent their words are in the document (Luhn, "The Automatic Creation of
Literature Abstracts", 1958) and the best are kept in their order.
"""

from __future__ import annotations

import re
from collections import Counter

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
_WORD = re.compile(r"[A-Za-z]{4,}")
_COMMON = frozenset(
    {
        "also",
        "does",
        "from",
        "have",
        "into",
        "must",
        "only",
        "other",
        "same",
        "such",
        "than",
        "that",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "used",
        "when",
        "where",
        "which",
        "while",
        "will",
        "with",
        "would",
    }
)
_WORDS_MIN, _WORDS_MAX = 6, 60


def documents(count: int) -> dict[str, str]:
    """The `count` longest topics of Python's language reference by name, as this interpreter ships them."""
    from pydoc_data.topics import topics

    longest = sorted(topics, key=lambda name: (-len(topics[name]), name))[:count]
    return {name: topics[name] for name in sorted(longest)}


def summarise(text: str, sentences_max: int = 5) -> str:
    """The most telling sentences of `text`, one a line, in their order; empty if it has none."""
    paragraphs = [
        " ".join(part.split()) for part in text.split("\n\n") if ">>>" not in part and not part.startswith(("*", "-"))
    ]
    sentences = [one for part in paragraphs for one in _SENTENCE.split(part)]
    weight = Counter(word for word in _words(text) if word not in _COMMON)
    scored = []
    for place, sentence in enumerate(sentences):
        words = _words(sentence)
        if _WORDS_MIN <= len(words) <= _WORDS_MAX and sentence.endswith("."):
            scored.append((sum(weight[word] for word in words) / len(words), place))
    best = sorted(place for _, place in sorted(scored, reverse=True)[:sentences_max])
    return "".join(f"- {sentences[place]}\n" for place in best)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def page(name: str, text: str) -> str:
    """The finished summary of one document; its last line tells a whole page from a torn one."""
    return f"# {name}\n\n{summarise(text)}\n(end of {name})\n"


def is_whole(name: str, data: str) -> bool:
    """Whether `data` is a finished page about `name`."""
    return data.startswith(f"# {name}\n") and data.endswith(f"(end of {name})\n")
