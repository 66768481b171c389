"""One page, one spelling; two pages, two."""

from __future__ import annotations

import pytest
from hypothesis import given
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
    ("https://example.org/a", "http://example.org/a"),
    ("https://example.org/a", "https://example.org:443/a"),
    ("https://example.org/a", "http://example.org:80/a"),
    ("https://example.org/a", "https://example.org:/a"),
    ("https://example.org/a", "https://example.org./a"),
    ("https://example.org/a", "https://www.example.org/a"),
    ("https://example.org/a", "https://reader:secret@example.org/a"),
    ("https://example.org/a", "  https://example.org/a\n"),
    ("https://example.org/a", "//example.org/a"),
    ("https://example.org/a", "www.example.org/a"),
    # slashes, dots, fragments
    ("https://example.org", "https://example.org/"),
    ("https://example.org/a", "https://example.org/a/"),
    ("https://example.org/b", "https://example.org/a/../b"),
    ("https://example.org/a/b", "https://example.org/a/./b"),
    ("https://example.org/a", "https://example.org/a#methods"),
    ("https://example.org/a", "https://example.org/a#:~:text=as%20shown"),
    ("https://example.org/a", "https://example.org/a?"),
    # international names and percent-encoding
    ("https://münchen.example/a", "https://xn--mnchen-3ya.example/a"),
    ("https://MÜNCHEN.example/a", "https://münchen.example/a"),
    ("https://straße.example", "https://xn--strae-oqa.example"),
    ("https://例え.example/a", "https://xn--r8jz45g.example/a"),
    ("https://example.org/~lee/caf%C3%A9", "https://example.org/%7elee/café"),
    ("https://example.org/a%2Fb", "https://example.org/a%2fb"),
    ("https://en.wikipedia.org/wiki/Insulin_(medication)", "https://en.wikipedia.org/wiki/Insulin_%28medication%29"),
    ("https://example.org/a%20b", "https://example.org/a b"),
    ("https://example.org/?q=a+b", "https://example.org/?q=a%20b"),
    ("https://example.org/100%25", "https://example.org/100%"),
    # parameters
    ("https://example.org/?a=1&b=2", "https://example.org/?b=2&a=1"),
    ("https://example.org/?a", "https://example.org/?a="),
    ("https://example.org/?a=1", "https://example.org/?&a=1&&"),
    # tracking
    (ARTICLE, f"{ARTICLE}?utm_source=x&utm_medium=social&utm_campaign=y&utm_id=1"),
    (ARTICLE, f"{ARTICLE}?UTM_Source=x"),
    (ARTICLE, f"{ARTICLE}?fbclid=IwAR0"),
    (ARTICLE, f"{ARTICLE}?gclid=1&gclsrc=aw.ds&gbraid=2&wbraid=3&dclid=4"),
    (ARTICLE, f"{ARTICLE}?msclkid=1&yclid=2&twclid=3&ttclid=4&li_fat_id=5"),
    (ARTICLE, f"{ARTICLE}?mc_cid=1&mc_eid=2&mkt_tok=3"),
    (ARTICLE, f"{ARTICLE}?_hsenc=p2&_hsmi=1&__hstc=1&hsCtaTracking=x"),
    (ARTICLE, f"{ARTICLE}?igshid=1&igsh=2"),
    (ARTICLE, f"{ARTICLE}?_ga=2.1&_gl=1*x"),
    (ARTICLE, f"{ARTICLE}?srsltid=AfmB"),
    (ARTICLE, f"{ARTICLE}?at_medium=RSS&at_campaign=KARANGA"),
    (ARTICLE, f"{ARTICLE}?pk_campaign=1&mtm_source=2&matomo_kwd=3"),
    (ARTICLE, f"{ARTICLE}?cmpid=x&ncid=y&icid=z&smid=tw-share&xtor=RSS-1"),
    (ARTICLE, f"{ARTICLE}?guccounter=1&guce_referrer=aHR0&guce_referrer_sig=AQ"),
    (ARTICLE, f"{ARTICLE}?ref_src=twsrc%5Etfw"),
    (
        "https://www.sciencedirect.com/science/article/pii/S1",
        "https://www.sciencedirect.com/science/article/pii/S1?via%3Dihub",
    ),
    ("https://doi.example/10.1/x", "https://doi.example/10.1/x?casa_token=abc&needAccess=true"),
    ("https://www.youtube.com/watch?v=1", "https://m.youtube.com/watch?v=1&feature=youtu.be"),
    ("https://shop.example/list", "https://shop.example/list;jsessionid=0A1B2C?utm_source=x"),
    # mobile and AMP
    ("https://en.wikipedia.org/wiki/Metformin", "https://en.m.wikipedia.org/wiki/Metformin"),
    ("https://www.facebook.com/who/posts/1", "https://m.facebook.com/who/posts/1"),
    ("https://news.example/a", "https://mobile.news.example/a"),
    (ARTICLE, f"{ARTICLE}/amp"),
    (ARTICLE, f"{ARTICLE}/amp/"),
    (ARTICLE, f"{ARTICLE}.amp"),
    (f"{ARTICLE}.html", f"{ARTICLE}.amp.html"),
    (ARTICLE, f"{ARTICLE}?amp=1"),
    (ARTICLE, f"{ARTICLE}?outputType=amp"),
    (ARTICLE, "https://amp.example.org/2024/03/a-new-trial-of-metformin"),
    (ARTICLE, "https://example-org.cdn.ampproject.org/c/s/example.org/2024/03/a-new-trial-of-metformin"),
    (
        ARTICLE,
        "https://example-org.cdn.ampproject.org/v/s/example.org/2024/03/a-new-trial-of-metformin?amp_js_v=0.1&usqp=mq3",
    ),
    (ARTICLE, "https://www.google.com/amp/s/example.org/2024/03/a-new-trial-of-metformin/amp/"),
    (ARTICLE, "https://example-org.webpkgcache.com/doc/-/s/example.org/2024/03/a-new-trial-of-metformin"),
    # redirects
    (ARTICLE, f"https://duckduckgo.com/l/?uddg={ARTICLE.replace(':', '%3A').replace('/', '%2F')}&rut=0f1e"),
    (f"{ARTICLE}?a=1&b=2", f"//duckduckgo.com/l/?uddg={ARTICLE}?a=1&b=2&rut=0f1e"),
    (ARTICLE, f"https://www.google.com/url?sa=t&url={ARTICLE.replace(':', '%3A').replace('/', '%2F')}&usg=AOv"),
    (ARTICLE, f"https://www.google.com/url?q={ARTICLE}&sa=U"),
    (ARTICLE, f"https://l.facebook.com/l.php?u={ARTICLE.replace(':', '%3A').replace('/', '%2F')}&h=AT0"),
    (
        ARTICLE,
        "https://www.bing.com/ck/a?!&&p=1&u=a1aHR0cHM6Ly9leGFtcGxlLm9yZy8yMDI0LzAzL2EtbmV3LXRyaWFsLW9mLW1ldGZvcm1pbg&ntb=1",
    ),
]

OTHER_PAGE = [
    ("https://example.org/a", "https://example.org/A"),
    ("https://example.org/a", "https://example.org:8443/a"),
    ("http://example.org:8080/a", "https://example.org:8080/a"),
    ("https://example.org/a", "https://example.com/a"),
    ("https://sub.example.org/a", "https://example.org/a"),
    ("https://www2.example.org/a", "https://example.org/a"),
    ("https://example.org/a//b", "https://example.org/a/b"),
    ("https://example.org/a%2Fb", "https://example.org/a/b"),
    ("https://example.org/?id=1", "https://example.org/?id=2"),
    ("https://example.org/?a=1&a=2", "https://example.org/?a=2&a=1"),
    ("https://example.org/?ref=1", "https://example.org/?ref=2"),
    ("https://example.org/?q=a%2Bb", "https://example.org/?q=a+b"),
    ("https://example.org/?q=a%26b", "https://example.org/?q=a&b"),
    ("https://example.org/#/drugs/1", "https://example.org/#/drugs/2"),
    ("https://example.org/#!drugs", "https://example.org/"),
    ("https://example.org/index.html", "https://example.org/"),
    ("https://pubchem.ncbi.nlm.nih.gov/compound/amp", "https://pubchem.ncbi.nlm.nih.gov/compound"),
    ("https://en.wikipedia.org/wiki/AMP", "https://en.wikipedia.org/wiki"),
    ("https://example.org/?amp=adenosine", "https://example.org/"),
    ("https://mobile.health.example/", "https://health.example/"),
    ("https://m.co.uk/a", "https://co.uk/a"),
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
    ("address", "shown"),
    [
        ("HTTP://WWW.Example.org:80/Path/?utm_source=x&b=2&a=1#top", "http://www.example.org/Path?b=2&a=1"),
        ("https://user:secret@example.org/a", "https://example.org/a"),
        ("https://en.m.wikipedia.org/wiki/Foo_%28bar%29", "https://en.m.wikipedia.org/wiki/Foo_%28bar%29"),
        ("https://example.org/#/drugs/1", "https://example.org/#/drugs/1"),
        ("https://example.org/?a=1", "https://example.org/?a=1"),
        ("https://[2001:DB8::1]:8080/a", "https://[2001:db8::1]:8080/a"),
        ("http://127.0.0.1:8080/a/", "http://127.0.0.1:8080/a"),
        ("", ""),
        (" not an address ", "not an address"),
        ("mailto:lee@example.org", "mailto:lee@example.org"),
        ("http://[::1", "http://[::1"),
        ("https://exa mple.org/a", "https://exa mple.org/a"),
        ("https://example.org:99999/a", "https://example.org:99999/a"),
        ("http://example.org:-80/a?utm_source=x", "http://example.org:-80/a?utm_source=x"),
    ],
)
def test_a_shown_address_is_tidy_and_still_answers(address: str, shown: str):
    assert clean_url(address) == shown


def test_a_redirect_to_a_redirect_is_followed():
    inner = "https://www.google.com/url?q=https://example.org/a"
    assert resolve_redirect(f"https://duckduckgo.com/l/?uddg={inner}&rut=1") == "https://example.org/a"


@pytest.mark.parametrize(
    "address",
    [
        "https://duckduckgo.com/y.js?ad_domain=x",
        "https://www.google.com/url?q=javascript:alert(1)",
        "https://www.bing.com/ck/a?u=a1!!!",
        "https://www.bing.com/ck/a?u=a1_w",
    ],
)
def test_what_leads_nowhere_stays_as_it_is(address: str):
    assert resolve_redirect(address) == address


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("nih.gov", "nih.gov"),
        ("https://www.NIH.gov/news/", "nih.gov/news"),
        ("*.nih.gov", "nih.gov"),
        (".gov", "gov"),
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("nih.gov OR evil.example", ""),
        ("-site:x", ""),
        ("", ""),
        ("!", ""),
    ],
)
def test_a_domain_is_taken_as_people_write_it(text: str, rule: str):
    assert domain_rule(text) == rule


@pytest.mark.parametrize(
    ("url", "rule", "within"),
    [
        ("https://www.nih.gov/a", "nih.gov", True),
        ("https://pubmed.ncbi.nlm.nih.gov/1", "nih.gov", True),
        ("https://notnih.gov/a", "nih.gov", False),
        ("https://nih.gov.example/a", "nih.gov", False),
        ("https://cdc.gov/a", "gov", True),
        ("https://who.int/news/1", "who.int/news", True),
        ("https://who.int/newsroom", "who.int/news", False),
        ("no address", "nih.gov", False),
    ],
)
def test_a_domain_holds_its_subdomains_and_nothing_else(url: str, rule: str, within: bool):
    assert is_within(url, rule) is within


def test_only_addresses_of_hosts_are_web_addresses():
    assert is_web_address("https://example.org/a")
    assert is_web_address("www.example.org")
    assert not is_web_address("javascript:alert(1)")
    assert not is_web_address("ftp://example.org/a")
    assert not is_web_address("/relative")
    assert host_of("HTTPS://WWW.Example.org/a") == "example.org"
    assert host_of("nothing") == ""


PIECES = (
    "http:// https:// // www. m. amp. example é ß .com .co.uk / /a-b-c/amp .amp %2e % .. /./ ? & = utm_source=1 amp=1 "
    "# #!/ + %zz a @ :80 :443 ;jsessionid=1 "
    "//duckduckgo.com/l/?uddg= &rut= https%3A%2F%2F .cdn.ampproject.org/c/s/ [ ] [::1] "
    "https://www.google.com/url?q= https://www.bing.com/ck/a?u=a1"
)
ADDRESSES = st.lists(st.sampled_from([*PIECES.split(" "), " ", "\ud800", "\u200b"]), max_size=14).map("".join)


@given(st.one_of(ADDRESSES, st.text()))
def test_no_text_whatever_raises_or_changes_when_spelled_again(text: str):
    assert normalize_url(normalize_url(text)) == normalize_url(text)
    assert clean_url(clean_url(text)) == clean_url(text)
    assert normalize_url(clean_url(text)) == normalize_url(text)
    assert resolve_redirect(resolve_redirect(text)) == resolve_redirect(text)
    is_within(text, domain_rule(text))
    is_web_address(text)
    host_of(text)
