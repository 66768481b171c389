"""What a record says outright about whom a study was made with, where, and under which numbers it is registered."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deepcritical_mcp.models import Publication

# MeSH headings of people, then of animals.
_PEOPLE = (
    "Humans;Female;Male;Infant, Newborn;Infant;Child, Preschool;Child;Adolescent;Young Adult;Adult;Middle Aged;Aged;"
    "Aged, 80 and over;Pregnant Women;Pregnancy;Veterans;Nurses;Physicians;Students;Healthy Volunteers"
).split(";")
_ANIMALS = (
    "Animals;Mice;Rats;Rabbits;Dogs;Cats;Guinea Pigs;Cricetinae;Swine;Sheep;Cattle;Horses;Chickens;Zebrafish;"
    "Macaca mulatta;Primates;Haplorhini;Drosophila melanogaster;Caenorhabditis elegans"
).split(";")
_STRAINS = ("Mice", "Rats")
_IN_TITLE = re.compile(
    r"\b(?:(?:pregnant|postmenopausal|older|young|healthy|elderly|hospitali[sz]ed) )?"
    r"(?:children|adolescents|adults|women|men|infants|neonates|newborns|veterans|nurses|volunteers|"
    r"mice|rats|rabbits|dogs|pigs|zebrafish)\b",
    re.IGNORECASE,
)
_COUNTRY_NAMES = """
Afghanistan;Albania;Algeria;Angola;Argentina;Armenia;Australia;Austria;Azerbaijan;Bahrain;Bangladesh;Belarus;Belgium;
Benin;Bhutan;Bolivia;Bosnia and Herzegovina;Botswana;Brazil;Bulgaria;Burkina Faso;Burundi;Cambodia;Cameroon;Canada;
Central African Republic;Chad;Chile;China;Colombia;Costa Rica;Croatia;Cuba;Cyprus;Czech Republic;Czechia;
Democratic Republic of the Congo;Denmark;Dominican Republic;Ecuador;Egypt;El Salvador;Eritrea;Estonia;Eswatini;
Ethiopia;Fiji;Finland;France;Gabon;Germany;Ghana;Greece;Guatemala;Guinea-Bissau;Guyana;Haiti;Honduras;Hungary;
Iceland;India;Indonesia;Iran;Iraq;Ireland;Israel;Italy;Jamaica;Japan;Kazakhstan;Kenya;Kuwait;Kyrgyzstan;Laos;Latvia;
Lebanon;Lesotho;Liberia;Libya;Lithuania;Luxembourg;Madagascar;Malawi;Malaysia;Mali;Malta;Mauritania;Mauritius;Mexico;
Moldova;Mongolia;Montenegro;Morocco;Mozambique;Myanmar;Namibia;Nepal;Netherlands;New Zealand;Nicaragua;Nigeria;
North Korea;Norway;Oman;Pakistan;Panama;Papua New Guinea;Paraguay;Peru;Philippines;Poland;Portugal;Qatar;
Republic of Korea;Republic of North Macedonia;Romania;Russia;Rwanda;Saudi Arabia;Senegal;Serbia;Sierra Leone;Singapore;
Slovakia;Slovenia;Somalia;South Africa;South Korea;South Sudan;Spain;Sri Lanka;Sudan;Sweden;Switzerland;Syria;Taiwan;
Tajikistan;Tanzania;Thailand;Togo;Trinidad and Tobago;Tunisia;Turkey;Türkiye;Uganda;Ukraine;United Arab Emirates;
United Kingdom;United States;Uruguay;Uzbekistan;Venezuela;Vietnam;Yemen;Zambia;Zimbabwe;England;Scotland;Wales;
Northern Ireland;Hong Kong
"""
_COUNTRIES = frozenset(_COUNTRY_NAMES.replace("\n", "").split(";"))
"""As MeSH or people write them. Names that are also a state's, a person's or a disease's are not among them."""
_SHORT_FORMS: Mapping[str, str] = {
    "USA": "United States",
    "US": "United States",
    "U.S.": "United States",
    "UK": "United Kingdom",
}
_NAMES = "|".join(map(re.escape, sorted((*_COUNTRIES, *_SHORT_FORMS), key=len, reverse=True)))
_PART = r"(?:[Rr]ural|[Uu]rban|[Cc]entral|(?:[Nn]orth|[Ss]outh)(?:east|west|eastern|western|ern)?|[EeWw][ae]st(?:ern)?)"
_COUNTRY_IN_TITLE = re.compile(rf"\b[Ii]n (?:{_PART} )?(?:the )?(?P<country>{_NAMES})(?![\w-]|\.\w| (?:and|Sea|pig)\b)")
_COUNTRY_NAMED = re.compile(rf"(?<![\w-])(?:{_NAMES})(?!\w)")
_REGISTRIES = tuple(
    "ClinicalTrials.gov;ISRCTN;ANZCTR;ChiCTR;CRiS;CTRI;DRKS;EudraCT;IRCT;Japic;JMACCT;JPRN;NTR;PACTR;ReBec;REPEC;RPCEC;"
    "SLCTR;TCTR;UMIN;PROSPERO".casefold().split(";")
)
_NUMBER = re.compile(
    r"\b(?:NCT[0-9]{8}|ISRCTN ?[0-9]{8}|ACTRN[0-9]{14}|ChiCTR[-A-Z]{0,8}[0-9]{8,12}|CRD ?[0-9]{11}|DRKS[0-9]{8}"
    r"|UMIN[0-9]{9}|IRCT[0-9A-Z]{10,20}|PACTR[0-9]{15}|CTRI/[0-9]{4}/[0-9]{2,3}/[0-9]{6}"
    r"|20[0-9]{2}-[0-9]{6}-[0-9]{2}(?:-[0-9]{2})?)\b"
)
_REGISTERED = re.compile(r"regist|clinicaltrials\.gov|clinical trials?\.gov|prospero|eudract", re.IGNORECASE)
_NEAR = 120
"""Characters before a number within which a text says that it is a registration."""


def population(record: Publication) -> tuple[str, ...]:
    """Words for people and animals: MeSH's, else those of the title."""
    strains = {strain for strain in _STRAINS for one in record.mesh_terms if one.startswith(f"{strain}, ")}
    headings = {*record.mesh_terms, *strains}
    if found := tuple(one for one in (*_PEOPLE, *_ANIMALS) if one in headings):
        return found
    return tuple(dict.fromkeys(one[0].lower() for one in _IN_TITLE.finditer(record.title)))


def study_countries(record: Publication) -> tuple[str, ...]:
    """Countries among the MeSH headings that title or abstract name too, and those that the title names as the place
    ("in Ethiopia")."""
    text = f"{record.title}\n{record.text.content if record.text.kind == 'abstract' else ''}"
    named = {_SHORT_FORMS.get(one, one) for one in _COUNTRY_NAMED.findall(text)}
    headings = (one for one in record.mesh_terms if one in _COUNTRIES & named)
    in_title = (one["country"] for one in _COUNTRY_IN_TITLE.finditer(record.title))
    return tuple(dict.fromkeys((*headings, *(_SHORT_FORMS.get(one, one) for one in in_title))))


def trial_numbers(record: Publication) -> tuple[str, ...]:
    """Registration numbers of trials and reviews, without the registry's name where they tell it themselves: the
    record's own, and those that its abstract gives as such."""
    listed = (one for one in record.registrations if one.casefold().startswith(_REGISTRIES) or _NUMBER.search(one))
    text = record.text.content if record.text.kind == "abstract" else ""
    near = (
        found[0]
        for found in _NUMBER.finditer(text)
        if _REGISTERED.search(text, max(0, found.start() - _NEAR), found.start()) or _follows(text, found.end())
    )
    numbers = ((_NUMBER.search(one), one) for one in (record.nct, *listed, *near) if one)
    return tuple(dict.fromkeys(found[0].replace(" ", "") if found else one for found, one in numbers))


def _follows(text: str, end: int) -> bool:
    return bool(_REGISTERED.search(text, end, end + 30))
