"""Passwords told in a sentence: "the password is ...", "I set its passphrase to ..."."""

from __future__ import annotations

from rekal.scrub.regex import Regex
from rekal.scrub.secrets.kind import by_pattern
from rekal.scrub.secrets.placeholder import is_placeholder

_MARKS = r"""[\\"'`*(]{0,4}"""
_PATTERN = (
    rf"(?i)pass(?:word|phrase|code|wd){_MARKS}(?:[ ](?:for|of|on)(?:[ ][\w@./\-]{{1,40}}){{1,4}}?)?[ ]"
    r"(?:is|was|are|be|to|as)(?:[ ](?:now|still|just|simply|currently))?:?[ ]"
    rf"""{_MARKS}(?P<secret>(?<![\\\w])[^\s"'`<>\\(){{}}\[\],;*]{{5,127}}(?:[^\s"'`<>\\(){{}}\[\],;*.:?!]|!(?=["'`*])))"""
)
_LETTER = Regex(r"[A-Za-z]")
# A dash or a dot joins words; these join nothing.
_SIGN = Regex(r"[0-9!#%^$&+]")
# Names of algorithms and encodings, versions, paths, addresses and identifiers.
_OTHER = Regex(
    r"(?i:sha|md|base|utf|bcrypt|argon|pbkdf|scrypt|aes|rsa|ed|hmac|v)-?\d|\$|.*(?:://|/|@[\w\-]+\.|::|\(|__)|[a-z]+(?:_[a-z0-9]+)+$"
)


def _is_told(value: str) -> bool:
    mixed = _LETTER.search(value) is not None and _SIGN.search(value) is not None
    return mixed and not _OTHER.match(value) and not is_placeholder(value)


KIND = by_pattern("spoken-password", _PATTERN, ("password", "passphrase", "passcode", "passwd"), check=_is_told)
