"""E-mail and IP addresses, by the rules."""

from __future__ import annotations

import json

import pytest

from rekal.scrub import Rules, Scrubber

ADDRESS = "quentin.fox" + "@" + "fabrikam.io"


@pytest.mark.parametrize(
    "text", [f"ask {ADDRESS}.", f"<{ADDRESS}>", f'"{ADDRESS}"', f"\\n{ADDRESS}\\n", f"mailto:{ADDRESS}"]
)
def test_address_is_redacted_by_default(text: str) -> None:
    assert Scrubber(Rules()).text(text) == text.replace(ADDRESS, "[redacted:email]")


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:org/repo.git",
        "noreply@anthropic.com",
        "1234+bot@users.noreply.github.com",
        "someone.else@example.org",
        "icon@2x.png",
        "npm i react@18.2.0 @types/node@latest",
        "@app.route('/x')",
        "user@localhost",
    ],
)
def test_what_is_nobodys_address_stays(text: str) -> None:
    assert Scrubber(Rules()).text(text) == text


def test_address_can_be_kept_or_replaced() -> None:
    assert Scrubber(Rules(email="keep")).text(ADDRESS) == ADDRESS
    scrubber = Scrubber(Rules(email="pseudonym", salt="s"))
    one, two = scrubber.text(f"{ADDRESS} {ADDRESS}").split()
    assert one == two != scrubber.text("x" + ADDRESS)
    assert scrubber.text(one) == one
    assert "quentin" not in one


def test_password_in_a_url_leaves_its_host() -> None:
    text = "https://bot:" + "Zx81kLmq" + "@git.fabrikam.io/x"
    assert Scrubber(Rules()).text(text) == "https://bot:[redacted:url-password]@git.fabrikam.io/x"


def test_ip_addresses_are_kept_unless_asked() -> None:
    text = "203.0.114.9 10.0.0.1 127.0.0.1 v1.2.3.4.5 8.8.8.8 999.1.1.1"
    assert Scrubber(Rules()).text(text) == text
    assert Scrubber(Rules(ip="redact")).text(text) == text.replace("203.0.114.9", "[redacted:ip]")


def test_names_in_a_listing_of_processes_go_and_questions_of_code_stay() -> None:
    row = "  1234  0.0  0.1 12345 678 {} Ss 10:00 0:00 bash"
    listing = "\n".join(("quentin" + row.format("?  "), "quentin" + row.format("pts/0"), "root" + row.format("?  ")))
    scrubbed = Scrubber(Rules(salt="s")).text(listing)
    assert "quentin" not in scrubbed
    assert scrubbed.count("user-") == 2
    assert Scrubber(Rules(salt="s")).text("quentin = 1 ? 2 : 3") == "quentin = 1 ? 2 : 3"


def test_a_card_that_is_a_bare_number_of_json_leaves_json_behind() -> None:
    number = 4_645_154_236_678_007
    for value in ({"v": number}, {"v": [1, number, 2]}, {"v": [number]}):
        scrubbed = Scrubber(Rules(salt="s")).text(json.dumps(value))
        assert str(number) not in scrubbed
        assert json.loads(scrubbed).keys() == {"v"}
        nested = Scrubber(Rules(salt="s")).text(json.dumps({"nested": json.dumps(value)}))
        assert str(number) not in nested
        assert json.loads(json.loads(nested)["nested"]).keys() == {"v"}
