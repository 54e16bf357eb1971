"""Secrets taken out of what leaves this process. Pure.

Two nets: the values that are known to be secret, wherever and however encoded they appear, and
the looks of a secret: keys, headers, tokens, passwords in addresses.
"""

import base64
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

Encoder = Callable[[bytes], bytes]

MASK = "***"

SHORTEST = 4
"""A shorter value is no secret, and masking it would eat the text."""

_SHORTEST_ENCODED = 6
"""In bytes; what is left of a shorter one could be any text."""

_SENSITIVE = (
    r"token|secret|passw|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]key"
    r"|credential|[_-](?:key|pass|psk)\b|pwd|\bauth\b|cookie"
)
_KEY = re.compile(rf"(?i){_SENSITIVE}")
_QUOTED = r"\\\"(?:[^\"\\]|\\[^\"])*\\\"|\"(?:[^\"\\]|\\.)*\"|'[^']*'"

_LOOKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
        MASK,
    ),
    (re.compile(r"K10\w+::[^\s\"'\\,]+"), MASK),
    (
        re.compile(
            r"(?i)((?:proxy-)?authorization|x-registry-auth|(?:set-)?cookie)"
            r"(\\?[\"']?\s*[:=]\s*\[?\\?[\"']?)[^\"'\r\n\]]+"
        ),
        rf"\1\2{MASK}",
    ),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"), rf"\1 {MASK}"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), MASK),
    (re.compile(r"(\w://)[^/\s\"'<>]+@"), rf"\1{MASK}@"),
    (
        re.compile(
            rf"(?i)((?:{_SENSITIVE})(?!-differs|-files|[\w]{{0,30}}\.go:)[\w.-]{{0,60}}\\?[\"']?\s*[:=]\s*)(?:{_QUOTED}|[^\s\"',;&]+)"
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(
            rf"(?i)(--[\w-]{{0,60}}(?:{_SENSITIVE})[\w-]{{0,60}})(\s+|[\"']\s*,\s*[\"'])(?!--)[^\s\"',]+"
        ),
        rf"\1\2{MASK}",
    ),
    # A line of a PEM block whose head is not in the text.
    (
        re.compile(
            r"(?<![\w+/])(?=[a-z\d+/]*[A-Z])(?=[A-Z\d+/]*[a-z])(?=[A-Za-z+/]*\d)"
            r"[A-Za-z\d+/]{60,}={0,2}"
        ),
        MASK,
    ),
)

_RANDOM = re.compile(r"(?<![\w])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[\w-]{16,}")
"""Whatever could be a secret of unknown form: long, of letters and digits."""


def is_secret_key(key: str) -> bool:
    """Whether what goes by this name is likely a secret."""
    return _KEY.search(key) is not None


@dataclass(frozen=True)
class Mask:
    """Takes secrets out of text.

    Attributes:
        values: What is known to be secret.
        is_blind: The volume's secrets could not be read, so all that could be one is masked.
    """

    values: frozenset[str] = frozenset()
    is_blind: bool = False

    @cached_property
    def _known(self) -> Sequence[str]:
        """All forms, the longest first: one may hold another."""
        forms = {form for value in self.values for form in _forms(value)}
        return sorted(forms, key=lambda form: (-len(form), form))

    def text(self, text: str) -> str:
        """Text without secrets."""
        for form in self._known:  # faster than one pattern of hundreds of alternatives
            text = text.replace(form, MASK)
        for pattern, instead in _LOOKS:
            text = pattern.sub(instead, text)
        return _RANDOM.sub(MASK, text) if self.is_blind else text

    def tree(self, found: object) -> object:
        """The same of what JSON can hold; the value of a key that looks secret goes whole."""
        match found:
            case str():
                return self.text(found)
            case Mapping():
                return {
                    self.text(str(key)): MASK
                    if isinstance(value, str) and value and is_secret_key(str(key))
                    else self.tree(value)
                    for key, value in found.items()
                }
            case Sequence() if not isinstance(found, bytes):
                return [self.tree(one) for one in found]
            case _:
                return found


def secrets_of(texts: Iterable[str]) -> frozenset[str]:
    """Values that are worth masking, of those that were read."""
    return frozenset(text for text in map(str.strip, texts) if len(text) >= SHORTEST)


def parts_of_token(token: str) -> Collection[str]:
    """A token and what in it is secret: ``K10<hash>::<user>:<secret>``, ``<user>:<secret>``."""
    short = token.partition("::")[2] or token
    return (token, short, short.partition(":")[2] or short)


def _forms(value: str) -> Iterable[str]:
    """How a value may be written: as it is, inside JSON, inside an address, in base64."""
    raw = value.encode(errors="surrogateescape")
    quoted = json.dumps(value)[1:-1]
    escaped = json.dumps(value, ensure_ascii=False)[1:-1]
    forms = {value, quoted, escaped, json.dumps(quoted)[1:-1], quote(raw, safe="")}
    for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
        forms |= {_base64_core(raw, offset, encode) for offset in range(3)}
    return {form for form in forms if len(form) >= SHORTEST}


def _base64_core(raw: bytes, offset: int, encode: Encoder) -> str:
    """What of a value's base64 does not depend on its neighbours, at one of three offsets."""
    if len(raw) < _SHORTEST_ENCODED:
        return ""
    text = encode(b"\0" * offset + raw).decode()
    first = -(-offset * 8 // 6)
    last = (offset + len(raw)) * 8 // 6
    return text[first:last]
