"""Generate the random endings of names, and the UIDs, of new objects.

Kubernetes: k8s.io/apimachinery/pkg/util/rand, and apiserver/pkg/storage/names.
"""

from collections.abc import Callable
from random import Random

#: No vowels and no digits that look like letters: a suffix never reads as a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5


def new_suffix(random: Callable[[], float]) -> str:
    """Return five random letters, as Kubernetes appends them to `generateName`. `random` returns less than 1."""
    return "".join(_ALPHABET[int(random() * len(_ALPHABET))] for _ in range(_SUFFIX_LENGTH))


def safe_encode(text: str) -> str:
    """Return a letter of the alphabet for each letter of a text, such as a hash that becomes part of a name."""
    return "".join(_ALPHABET[ord(letter) % len(_ALPHABET)] for letter in text)


def new_uid(random: Random) -> str:
    """Return a random UID (version 4)."""
    digits = f"{random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
