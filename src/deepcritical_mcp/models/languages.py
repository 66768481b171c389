"""Languages by their MARC codes, which PubMed writes ("ger"): the code list of the Library of Congress."""

from __future__ import annotations

# MARC code, name, BCP 47 tag.
_TABLE = """
afr Afrikaans af, alb Albanian sq, amh Amharic am, ara Arabic ar, arm Armenian hy, aze Azerbaijani az, ben Bengali
bn, bos Bosnian bs, bul Bulgarian bg, cat Catalan ca, chi Chinese zh, cze Czech cs, dan Danish da, dut Dutch nl, eng
English en, epo Esperanto eo, est Estonian et, fin Finnish fi, fre French fr, geo Georgian ka, ger German de, gla
Scottish Gaelic gd, gre Greek el, heb Hebrew he, hin Hindi hi, hrv Croatian hr, hun Hungarian hu, ice Icelandic is,
ind Indonesian id, ita Italian it, jpn Japanese ja, kin Kinyarwanda rw, kor Korean ko, lat Latin la, lav Latvian lv,
lit Lithuanian lt, mac Macedonian mk, mal Malayalam ml, mao Maori mi, may Malay ms, nor Norwegian no, per Persian
fa, pol Polish pl, por Portuguese pt, pus Pushto ps, rum Romanian ro, rus Russian ru, san Sanskrit sa, slo Slovak
sk, slv Slovenian sl, spa Spanish es, srp Serbian sr, swe Swedish sv, tha Thai th, tur Turkish tr, ukr Ukrainian uk,
urd Urdu ur, vie Vietnamese vi, wel Welsh cy
"""
_ROWS = [(row[:3], row[4:-3], row[-2:]) for row in " ".join(_TABLE.split()).split(", ")]
_LANGUAGES = {code: (name, tag) for marc, name, tag in _ROWS for code in (marc, tag)}
_NO_LANGUAGE = ("und", "mul", "zxx")
"""Codes for undetermined, several, and no language."""


def language_names(codes: str) -> list[str]:
    """The English names of languages: "eng, ger" is ["English", "German"].

    Two-letter codes count too. What is not a code stands for itself; undetermined languages are left out.
    """
    given = [code.strip() for code in codes.split(",")]
    return [_LANGUAGES.get(code.lower(), (code, ""))[0] for code in given if code and code.lower() not in _NO_LANGUAGE]


def language_tag(codes: str) -> str:
    """The BCP 47 tag of the first language, e.g. "de" for "ger"; "" if it is not known."""
    first = codes.split(",")[0].strip().lower()
    return _LANGUAGES.get(first, ("", first if len(first) == 2 and first.isascii() else ""))[1]
