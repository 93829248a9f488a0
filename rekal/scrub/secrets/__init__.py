"""The kinds of secrets rekal knows, specific ones first: the first kind names an overlap.

Kinds that a pattern or a prefix gives away are grouped by family; a kind that needs code of its own has a file of its
own. A file for every kind would cost each process that scrubs 6 ms more.
"""

from __future__ import annotations

from rekal.scrub.secrets import (
    authorization_header,
    clouds,
    cookie,
    forges,
    high_entropy,
    hosting,
    messaging,
    models,
    named,
    netrc,
    password_forms,
    payments,
    private_block,
    private_key,
    registries,
    service_tokens,
    services,
    short_flag,
    spoken_password,
    standards,
    url_password,
)
from rekal.scrub.secrets.kind import Kind

KINDS: tuple[Kind, ...] = (
    private_block.KIND,
    private_key.KIND,
    *standards.KINDS,
    *clouds.KINDS,
    *hosting.KINDS,
    *forges.KINDS,
    *registries.KINDS,
    *models.KINDS,
    *messaging.KINDS,
    *payments.KINDS,
    *services.KINDS,
    *service_tokens.KINDS,
    authorization_header.KIND,
    cookie.KIND,
    url_password.KIND,
    netrc.KIND,
    short_flag.KIND,
    *named.KINDS,
    spoken_password.KIND,
    password_forms.KIND,
    high_entropy.KIND,
)
