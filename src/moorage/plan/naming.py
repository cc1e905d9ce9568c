"""Names and hashes of what controllers make: shaped as Kubernetes shapes them, and the same for the same input.

Kubernetes: apimachinery/pkg/util/rand and ComputeHash, of random numbers and of Go's memory. Differs: suffixes come
from what the pod is, hashes from the template's JSON, so they look like the real ones but are others.
"""

import hashlib

import msgspec

from moorage.admit.raw import Raw
from moorage.model.template_identity import telling_part

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words
SUFFIX_LENGTH = 5
_MAX_BASE_LENGTH = 58
_ENCODE = msgspec.json.Encoder(order="deterministic").encode


def name_suffix(seed: str) -> str:
    """Five characters, as at the end of generated names."""
    number = int.from_bytes(hashlib.blake2b(seed.encode(errors="replace"), digest_size=8).digest())
    characters = []
    for _ in range(SUFFIX_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[index])
    return "".join(characters)


def generated_name(base: str, seed: str) -> str:
    """A name made from generateName, cut as the API server cuts it."""
    return base[:_MAX_BASE_LENGTH] + name_suffix(seed)


def template_hash(template: Raw, taken: str = "") -> str:
    """What tells the pods of one template from those of another; another one if that is `taken`."""
    telling = telling_part(template)
    digest = hashlib.blake2b(_ENCODE([taken, telling] if taken else telling), digest_size=4).digest()
    return "".join(_ALPHABET[int(digit) % len(_ALPHABET)] for digit in str(int.from_bytes(digest)))
