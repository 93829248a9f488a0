"""The kinds of secrets rekal knows, specific ones first: the first kind names an overlap.

Kinds that a pattern or a prefix gives away are grouped by family; a kind that needs code of its own has a file of its
own. A file for every kind would cost each process that scrubs 6 ms more.
"""

from __future__ import annotations

from rekal.scrub.secrets import (
    credentials,
    high_entropy,
    named,
    password_forms,
    private_block,
    private_key,
    service_tokens,
    services,
    short_flag,
)
from rekal.scrub.secrets.kind import Kind

KINDS: tuple[Kind, ...] = (
    private_block.KIND,
    private_key.KIND,
    *services.STANDARDS,
    *services.CLOUDS,
    *services.HOSTING,
    *services.FORGES,
    *services.REGISTRIES,
    *services.MODELS,
    *services.MESSAGING,
    *services.PAYMENTS,
    *services.OTHERS,
    *service_tokens.KINDS,
    high_entropy.HEX,
    credentials.AUTHORIZATION_HEADER,
    credentials.COOKIE,
    credentials.URL_PASSWORD,
    credentials.NETRC,
    short_flag.KIND,
    *named.KINDS,
    password_forms.SPOKEN_PASSWORD,
    password_forms.PASSWORD_FORM,
    high_entropy.KIND,
)
