"""One page, one spelling; two pages, two."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepcritical_mcp.urls import (
    clean_url,
    domain_rule,
    host_of,
    is_web_address,
    is_within,
    normalize_url,
    resolve_redirect,
    without_secrets,
)

ARTICLE = "https://example.org/2024/03/a-new-trial-of-metformin"

SAME_PAGE = [
    # scheme, host, port
    ("https://example.org/Path", "HTTPS://EXAMPLE.ORG/Path"),
    ("https://example.org/a", "https://example.org:443/a"),
    ("https://example.org/a", "http://example.org:80/a"),
    ("https://example.org/a", "https://example.org:/a"),
    ("https://example.org/a", "https://example.org./a"),
    ("https://example.org/a", "https://www.example.org/a"),
    ("https://example.org/a", "https://reader:secret@example.org/a"),
    ("https://example.org/a", "  https://example.org/a\n"),
    ("https://example.org/a", "//example.org/a"),
    ("https://example.org/a", "www.example.org/a"),
    ("https://example.org/b", "https://example.org/a/../b"),
    ("https://example.org/a/b", "https://example.org/a/./b"),
    # international names and percent-encoding
    ("https://münchen.example/a", "https://xn--mnchen-3ya.example/a"),
    ("https://example.org/~lee/caf%C3%A9", "https://example.org/%7elee/café"),
    ("https://en.wikipedia.org/wiki/Insulin_(medication)", "https://en.wikipedia.org/wiki/Insulin_%28medication%29"),
    ("https://example.org/?q=a+b", "https://example.org/?q=a%20b"),
    (ARTICLE, f"{ARTICLE}?mc_cid=1&mc_eid=2&mkt_tok=3"),
    (ARTICLE, f"{ARTICLE}?_hsenc=p2&_hsmi=1&__hstc=1&hsCtaTracking=x"),
    (ARTICLE, f"{ARTICLE}?igshid=1&igsh=2&_ga=2.1&_gl=1*x&srsltid=AfmB&at_medium=RSS&at_campaign=KARANGA"),
    (ARTICLE, f"{ARTICLE}?pk_campaign=1&mtm_source=2&matomo_kwd=3"),
    (ARTICLE, f"{ARTICLE}?cmpid=x&ncid=y&icid=z&smid=tw-share&xtor=RSS-1"),
    (ARTICLE, f"{ARTICLE}?guccounter=1&guce_referrer=aHR0&guce_referrer_sig=AQ"),
    # mobile
    ("https://en.wikipedia.org/wiki/Metformin", "https://en.m.wikipedia.org/wiki/Metformin"),
    # redirects
    (ARTICLE, f"https://duckduckgo.com/l/?uddg={ARTICLE.replace(':', '%3A').replace('/', '%2F')}&rut=0f1e"),
    (ARTICLE, f"https://www.google.com/url?sa=t&url={ARTICLE.replace(':', '%3A').replace('/', '%2F')}&usg=AOv"),
    (
        ARTICLE,
        "https://www.bing.com/ck/a?!&&p=1&u=a1aHR0cHM6Ly9leGFtcGxlLm9yZy8yMDI0LzAzL2EtbmV3LXRyaWFsLW9mLW1ldGZvcm1pbg&ntb=1",
    ),
]

OTHER_PAGE = [
    ("https://example.org/a", "https://example.org/A"),
    ("https://example.org/a", "https://example.org:8443/a"),
    ("http://example.org:8080/a", "https://example.org:8080/a"),
    ("https://sub.example.org/a", "https://example.org/a"),
    ("https://example.org/a%2Fb", "https://example.org/a/b"),
    ("https://example.org/?id=1", "https://example.org/?id=2"),
    ("https://example.org/?q=a%26b", "https://example.org/?q=a&b"),
    ("https://example.org/#/drugs/1", "https://example.org/#/drugs/2"),
    ("https://example.org/#!drugs", "https://example.org/"),
    ("https://straße.example", "https://strasse.example"),
]


@pytest.mark.parametrize(
    "parameter",
    "api_key apikey API-Key api%5Fkey key token access_token sig signature password X-Amz-Credential secret".split(),
)
def test_the_value_of_a_secret_parameter_is_hidden(parameter: str) -> None:
    text = f"no page at https://b.example/x?page=2&{parameter}=SECRET123/+%20=&keyword=zinc#part"
    assert without_secrets(text) == f"no page at https://b.example/x?page=2&{parameter}=…&keyword=zinc#part"


@pytest.mark.parametrize(("address", "other"), SAME_PAGE)
def test_addresses_of_one_page_have_one_spelling(address: str, other: str):
    assert normalize_url(address) == normalize_url(other)


@pytest.mark.parametrize(("address", "other"), OTHER_PAGE)
def test_addresses_of_two_pages_have_two(address: str, other: str):
    assert normalize_url(address) != normalize_url(other)


@pytest.mark.parametrize(
    "address",
    [
        "https://duckduckgo.com/y.js?ad_domain=x",
        "https://www.google.com/url?q=javascript:alert(1)",
        "https://www.bing.com/ck/a?u=a1!!!",
    ],
)
def test_what_leads_nowhere_stays_as_it_is(address: str):
    assert resolve_redirect(address) == address


PIECES = (
    "http:// https:// // www. m. example é ß .com .co.uk / /a-b-c %2e % .. /./ ? & = utm_source=1 amp=1 "
    "# #!/ + %zz a @ :80 :443 ;jsessionid=1 "
    "//duckduckgo.com/l/?uddg= &rut= https%3A%2F%2F [ ] [::1] "
    "https://www.google.com/url?q= https://www.bing.com/ck/a?u=a1"
)
ADDRESSES = st.lists(st.sampled_from([*PIECES.split(" "), " ", "\ud800", "\u200b"]), max_size=14).map("".join)


@given(st.one_of(ADDRESSES, st.text()))
@example("//duckduckgo.com/l/?uddg=http:// &rut=")
def test_no_text_whatever_raises_or_changes_when_spelled_again(text: str):
    assert normalize_url(normalize_url(text)) == normalize_url(text)
    assert clean_url(clean_url(text)) == clean_url(text)
    assert normalize_url(clean_url(text)) == normalize_url(text)
    assert resolve_redirect(resolve_redirect(text)) == resolve_redirect(text)
    is_within(text, domain_rule(text))
    is_web_address(text)
    host_of(text)
