"""The words of a report in one language."""

from __future__ import annotations

from typing import ClassVar

from pdd_plan.errors import InputError, Issue
from pdd_plan.report import plan_sentences, plan_words, uncertainty_words, why_words

LANGUAGES = ("en", "zh")

WORDS = plan_words.WORDS | why_words.WORDS | uncertainty_words.WORDS
"""English and Chinese by key."""
SENTENCES = plan_sentences.SENTENCES | why_words.SENTENCES | uncertainty_words.SENTENCES
"""English and Chinese by key, with places for values."""


class Labels:
    """Words and sentences of one language.

    A report of another kind has a subclass with more of either.

    Parameters
    ----------
    language : str
        One of `LANGUAGES`.

    Raises
    ------
    InputError
        If there is no such language.
    """

    words: ClassVar[dict[str, tuple[str, str]]] = WORDS
    sentences: ClassVar[dict[str, tuple[str, str]]] = SENTENCES

    def __init__(self, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise InputError(
                Issue(
                    f"no reports in language {language!r}",
                    path="--lang",
                    help=f"one of {', '.join(LANGUAGES)}",
                )
            )
        self.language = language
        self._index = LANGUAGES.index(language)

    def knows(self, key: str) -> bool:
        """Return whether there is a word for a key."""
        return key in WORDS

    def word(self, key: str, **values: object) -> str:
        """Return the word of a key that this package chose."""
        return self.words[key][self._index].format(**values)

    def name(self, key: str) -> str:
        """Return the word of a key that came with a plan, or the key itself where none is known."""
        return WORDS[key][self._index] if key in WORDS else key

    def say(self, key: str, **values: object) -> str:
        """Return a sentence with its values filled in."""
        return self.sentences[key][self._index].format(**values)
