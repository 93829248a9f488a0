"""Passwords in the forms of SQL, XML, code, commands and sentences, each recognised by the words just before it.

One kind serves all forms. A form is tried where one of its hints stands; hints that contain "pass", "secret" or "key"
cost nothing more, since other kinds look for those anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import Check, Hay, Kind, Span, by_pattern, shared_part
from rekal.scrub.secrets.named import is_placeholder

# Passwords told in a sentence: "the password is ...", "I set its passphrase to ...".

_MARKS = r"""[\\"'`*(]{0,4}"""
_SPOKEN = (
    rf"(?i)pass(?:word|phrase|code|wd){_MARKS}(?:[ ](?:for|of|on)(?:[ ][\w@./\-]{{1,40}}){{1,4}}?)?[ ]"
    r"(?:is|was|are|be|to|as)(?:[ ](?:now|still|just|simply|currently))?:?[ ]"
    rf"""{_MARKS}(?P<secret>(?<![\\\w])[^\s"'`<>\\(){{}}\[\],;*]{{5,127}}(?:[^\s"'`<>\\(){{}}\[\],;*.:?!]|!(?=["'`*])))"""
)
_LETTER = lazy_pattern(r"[A-Za-z]")
# A dash or a dot joins words; these join nothing.
_JOINS_NOTHING = lazy_pattern(r"[0-9!#%^$&+]")
# Names of algorithms and encodings, versions, paths, addresses and identifiers.
_OTHER = lazy_pattern(
    r"(?i:sha|md|base|utf|bcrypt|argon|pbkdf|scrypt|aes|rsa|ed|hmac|v)-?\d|\$|.*(?:://|/|@[\w\-]+\.|::|\(|__)|[a-z]+(?:_[a-z0-9]+)+$"
)


def _is_spoken_password(value: str) -> bool:
    mixed = _LETTER.search(value) is not None and _JOINS_NOTHING.search(value) is not None
    return mixed and not _OTHER.match(value) and not is_placeholder(value)


SPOKEN_PASSWORD = by_pattern(
    "spoken-password", _SPOKEN, ("password", "passphrase", "passcode", "passwd"), check=_is_spoken_password
)


# A value in quotes or bare, up to the next quote, blank, backslash or sign of the shell.
_VALUE = r"""\\*["'`]?(?P<secret>[^\s"'`\\|;&<>(){}\[\],]{4,128})"""
# In quotes anything but the quote may stand.
_QUOTED = r"""\\*["'](?P<secret>[^"'\\\n]{4,128})\\*["']"""
_SIGN = lazy_pattern(r"[0-9!#%^$&+*]")
_PROSE = lazy_pattern(r"[a-z]+(?:[-_.'][a-z]+)*[.,:;!?]*\Z|.*://|[/~.@<%-]|[A-Z_]+\Z|\d+[a-z%]{0,2}\Z", 0)


def _is_argument(value: str) -> bool:
    """True for the argument of a command that takes a password there, unless it is an option or a variable."""
    return not is_placeholder(value) and not value.startswith(("-", "$", "/", "."))


def _is_typed(value: str) -> bool:
    """True for a word of a sentence that can only be a password: letters with digits or signs, no path or address."""
    mixed = _LETTER.search(value) is not None and _SIGN.search(value) is not None
    return mixed and "/" not in value and not _PROSE.match(value) and not is_placeholder(value)


_SECRET_WORD = r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api_?key|auth_?key|salt)"


class _Form(msgspec.Struct, frozen=True):
    """One form: ``pattern`` is tried where a hint stands, if ``before`` is found in the text that ends there.

    Of the texts with a form that has ``triggers``, every one has one of these; they are looked for anyway.

    The secret is the group ``secret`` of the pattern.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Check
    before: re.Pattern[str] | None = None
    triggers: tuple[str, ...] = ()


def _form(
    hints: tuple[str, ...], pattern: str, check: Check, before: str = "", triggers: tuple[str, ...] = ()
) -> _Form:
    return _Form(
        hints, lazy_pattern(f"(?i){pattern}"), check, lazy_pattern(rf"(?i){before}\Z") if before else None, triggers
    )


_NAMES = ("pass", "secret", "token", "key")
_PIPED_TO = ("pass", "secret")


_PIPED = (
    r"[ \t]*\|[ \t]*(?:sudo[ \t]+)?(?:docker|podman|helm|oras|gh|wrangler|npx|gcloud|vault|passwd"
    r"|chpasswd|gpg|cryptsetup|ssh-add|su|kubectl|flyctl|vercel|az|aws|openssl|mc|oc)\b"
)

_FORMS = (
    # SQL
    _form(("identified",), rf"identified(?:\s+with\s+\S+)?\s+(?:by|as)\s+(?:password\s+)?{_QUOTED}", _is_argument),
    _form(("password '", "password \\'"), rf"password\s+{_QUOTED}", _is_argument),
    _form(("password('", 'password("', "password(\\"), rf"password\({_QUOTED}[ ]?\)", _is_argument),
    # Code, XML and property lists
    _form(
        ("define(",),
        rf"define\([ ]?\\*[\"']\w*{_SECRET_WORD}\w*\\*[\"'][ ]?,[ ]?{_QUOTED}",
        _is_argument,
        triggers=_NAMES,
    ),
    _form(
        ("password>", "secret>", "token>", "apikey>"),
        r"[a-z_]+>(?P<secret>[^<>\s]{4,256})<\\*/",
        _is_argument,
    ),
    _form(
        ("password</key>", "secret</key>", "token</key>"),
        r"[a-z_]+</key>\s*<string>(?P<secret>[^<>\n]{4,256})<",
        _is_argument,
    ),
    _form(("key=",), rf"key=\\*[\"'][\w.:\-]*{_SECRET_WORD}\\*[\"']\s+value={_QUOTED}", _is_argument),
    # Commands and files that take it in a fixed place
    _form(
        ("echo ", "printf "),
        rf"(?:echo|printf)[ \t]+(?:-n[ \t]+)?\\*[\"']?(?:\w+:)?(?P<secret>[^\s\"'`\\|]{{4,128}})\\*[\"']?{_PIPED}",
        _is_argument,
        triggers=_PIPED_TO,
    ),
    _form(("_authtoken", "_password", "_auth"), rf"_(?:authToken|password|auth)[ =]{_VALUE}", _is_argument, ":"),
    _form(
        ("htpasswd",),
        rf"htpasswd\s+-\w*b\w*(?:\s+-\w+)*(?:\s+[^\s|;&]+){{1,2}}?\s+{_VALUE}(?=\\*[\"']?\s*(?:\Z|[\n|;&`\\]))",
        _is_argument,
    ),
    _form(("assword",), rf"assword[^\n]{{0,40}}?\bsend\b[^\"'\n]{{0,10}}{_VALUE}", _is_argument),
    _form(("wpa_passphrase",), rf"wpa_passphrase\s+(?:\\*[\"'][^\"'\n]+\\*[\"']|\S+)\s+{_VALUE}", _is_argument),
    _form(("net use ",), rf"net use\s+(?:\w:\s+)?[^\s]+\s+/user:[^\s]+\s+{_VALUE}", _is_argument),
    _form(("net use ",), rf"net use\s+(?:\w:\s+)?\\+[^\s]+\s+{_VALUE}(?=\\*[\"']?\s+/user:)", _is_argument),
    _form(
        ("rabbitmqctl ",),
        rf"rabbitmqctl\s+(?:-\S+\s+\S+\s+)*(?:add_user|change_password|authenticate_user)\s+\S+\s+{_VALUE}",
        _is_typed,
    ),
    _form(
        ("mc alias set", "mc config host add"),
        rf"mc (?:alias set|config host add)\s+\S+\s+\S+://\S+\s+(?:\S+\s+){_VALUE}",
        _is_argument,
    ),
    _form((" password ",), rf" password {_VALUE}", _is_argument, r"nmcli[^\n]{0,100}"),
    _form(("psk=",), rf"psk={_VALUE}", _is_argument),
    _form(
        ("setx ", "variable set"),
        rf"(?:setx|variable set)\s+\w*{_SECRET_WORD}\w*\s+{_VALUE}",
        _is_argument,
        triggers=_NAMES,
    ),
    _form((" pass ",), rf" pass {_VALUE}(?=\s*(?:\Z|[\n;|&]))", _is_typed),
    _form((":5432:",), rf":5432:[^\s:]+:[^\s:]+:{_VALUE}", _is_typed),
    # Headers that no specification names
    _form(
        ("-key:", "-token:", "-secret:"),
        rf"-(?:key|token|secret):[ ]?{_VALUE}",
        _is_typed,
        r"(?:X-[\w-]{0,24}|PRIVATE|JOB|DEPLOY)",
    ),
    # Sentences and notes
    _form(
        ("login:", "cred"), rf"(?:login|cred(?:ential)?s?)\s*(?:are|is)?[:=]\s*[^\s/]{{2,60}}\s*/\s*{_VALUE}", _is_typed
    ),
    _form((" pass:",), rf" (?-i:pass):\s*{_VALUE}", _is_typed),
    _form(
        ("passwort", "kennwort"),
        rf"(?:pass|kenn)wort(?:\s+(?:für|von)\s+\S+)?\s*(?:ist|lautet|war|:|=|->)\s*(?:jetzt\s+)?{_VALUE}",
        _is_typed,
    ),
    _form(("mot de passe",), rf"mot de passe(?:\s+(?:de|pour|du)\s+\S+)?\s*(?:est|:|=)\s*{_VALUE}", _is_typed),
    _form(("contrase",), rf"contrase[ñn]a(?:\s+(?:de|para)\s+\S+)?\s*(?:es|:|=)\s*{_VALUE}", _is_typed),
    _form(("senha",), rf"senha(?:\s+(?:de|do|da|para)\s+\S+)?\s*(?:é|e|:|=)\s*{_VALUE}", _is_typed),
    _form(("la password",), rf"la password(?:\s+(?:di|per)\s+\S+)?\s*(?:è|e'|:|=)\s*{_VALUE}", _is_typed),
    _form(("wachtwoord",), rf"wachtwoord(?:\s+(?:van|voor)\s+\S+)?\s*(?:is|:|=)\s*{_VALUE}", _is_typed),
    # Scripts without Latin letters: hints see one question mark for each of their characters.
    _form(
        ("??",),
        rf"(?:密码|密碼|口令|パスワード|비밀번호|암호|пароль)\s*(?:是|为|為|は|은|는|이|[:\uff1a=]|-)?\s*{_VALUE}",
        _is_typed,
    ),
    _form(
        ("seed phrase", "recovery phrase", "mnemonic"),
        r"[a-z ]+\\*[\"']?\s?[:=]?\s?\\*[\"']?(?P<secret>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})",
        lambda value: len(set(value.split())) > 8,
    ),
)
_LOOK_BACK = 200


def _by_forms() -> Kind:
    alone = [(form, frozenset(map(shared_part, form.triggers))) for form in _FORMS if form.triggers]
    by_part: dict[str, list[tuple[str, _Form]]] = {}
    for form in _FORMS:
        for hint in form.hints if not form.triggers else ():
            by_part.setdefault(shared_part(hint), []).append((hint, form))
    groups = [(part, _any_of(part, rows), rows) for part, rows in by_part.items()]

    def find(text: str, hay: Hay) -> Iterator[Span]:
        for form, needed in alone:
            # A hint's part that is absent saves looking for the hint in every text of a store.
            if not needed.issubset(hay.absent):
                for at in hay.positions(form.hints):
                    yield from _read_form(text, at, form)
        for part, pattern, rows in groups:
            for at in hay.positions((part,)) if part not in hay.absent else ():
                if not pattern.match(hay.text, at):
                    continue
                for hint, form in rows:
                    begin = at - hint.index(part)
                    if hay.text.startswith(hint, begin):
                        yield from _read_form(text, begin, form)

    return Kind("password-form", tuple(hint for form in _FORMS for hint in form.triggers or form.hints), find)


def _any_of(part: str, rows: list[tuple[str, _Form]]) -> re.Pattern[str]:
    """A pattern that matches where ``part`` stands within one of the hints: they are tried at once, not one by one."""
    ends = []
    for hint, _ in rows:
        before, _, after = hint.partition(part)
        ends.append(f"(?<={re.escape(before)}){re.escape(part + after)}" if before else re.escape(part + after))
    return lazy_pattern("|".join(ends))


def _read_form(text: str, at: int, form: _Form) -> Iterator[Span]:
    match = form.pattern.match(text, at)
    if match is None:
        return
    if form.before and not form.before.search(text[max(0, at - _LOOK_BACK) : at]):
        return
    if form.check(match["secret"]):
        yield match.span("secret")


PASSWORD_FORM = _by_forms()
