"""Requests to ClinicalTrials.gov, in its query language, and its names of countries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, Self, cast

from pydantic import model_validator

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import query_problem
from deepcritical_mcp.sources.base import SearchRequest
from deepcritical_mcp.text import clean_line, normalized, without_question_words

# ClinicalTrials.gov's names, of which older and newer ones may be in use; after the colon, what else people write.
_NAMES = """
United States: usa, us, u s, u s a, america, united states of america, states
United Kingdom: uk, u k, gb, great britain, britain, england, scotland, wales, northern ireland
South Korea | Korea, Republic of: korea, republic of korea, south korea, rok
North Korea | Korea, Democratic People's Republic of: dprk
Turkey (Türkiye) | Turkey | Türkiye: turkiye
Russia | Russian Federation: rf
Iran | Iran, Islamic Republic of: islamic republic of iran
Vietnam | Viet Nam: viet nam
Czechia | Czech Republic: the czech republic
Laos | Lao People's Democratic Republic: lao pdr
Syria | Syrian Arab Republic:
Moldova | Moldova, Republic of: republic of moldova
Tanzania | Tanzania, United Republic of: united republic of tanzania
North Macedonia | Macedonia, The Former Yugoslav Republic of: macedonia
Côte d'Ivoire | Côte D'Ivoire | Cote d'Ivoire: ivory coast
Democratic Republic of the Congo | Congo, The Democratic Republic of the: dr congo, drc, congo kinshasa
Republic of the Congo | Congo: congo brazzaville
Eswatini | Swaziland:
The Gambia | Gambia: gambia
Palestinian Territories | Palestinian Territory, occupied | Palestine: palestine, state of palestine, gaza, west bank
Myanmar | Burma: burma
Cape Verde | Cabo Verde: cabo verde
Libya | Libyan Arab Jamahiriya:
Brunei | Brunei Darussalam:
Netherlands | The Netherlands: holland, the netherlands
United Arab Emirates: uae, emirates
China: prc, people s republic of china, mainland china
Hong Kong: hong kong sar
Macau | Macao: macao
Taiwan: taiwan roc
Germany: deutschland
Spain: espana
Italy: italia
Brazil: brasil
Switzerland: schweiz, suisse
Austria: osterreich
Bosnia and Herzegovina: bosnia
Serbia | Former Serbia and Montenegro:
New Zealand: nz, aotearoa
Ireland: republic of ireland, eire
Slovakia: slovak republic
Saudi Arabia: ksa
Venezuela | Venezuela, Bolivarian Republic of:
Bolivia | Bolivia, Plurinational State of:
Micronesia | Micronesia, Federated States of:
Holy See (Vatican City State): vatican
Réunion | Reunion: la reunion
"""
_OTHERS = """
Afghanistan,Albania,Algeria,American Samoa,Andorra,Angola,Antigua and Barbuda,Argentina,Armenia,Aruba,Australia,
Azerbaijan,Bahamas,Bahrain,Bangladesh,Barbados,Belarus,Belgium,Belize,Benin,Bermuda,Bhutan,Botswana,Bulgaria,
Burkina Faso,Burundi,Cambodia,Cameroon,Canada,Central African Republic,Chad,Chile,Colombia,Comoros,Costa Rica,Croatia,
Cuba,Curaçao,Cyprus,Denmark,Djibouti,Dominica,Dominican Republic,Ecuador,Egypt,El Salvador,Equatorial Guinea,Eritrea,
Estonia,Ethiopia,Faroe Islands,Fiji,Finland,France,French Guiana,French Polynesia,Gabon,Georgia,Ghana,Gibraltar,Greece,
Greenland,Grenada,Guadeloupe,Guam,Guatemala,Guernsey,Guinea,Guinea-Bissau,Guyana,Haiti,Honduras,Hungary,Iceland,India,
Indonesia,Iraq,Israel,Jamaica,Japan,Jersey,Jordan,Kazakhstan,Kenya,Kiribati,Kosovo,Kuwait,Kyrgyzstan,Latvia,Lebanon,
Lesotho,Liberia,Liechtenstein,Lithuania,Luxembourg,Madagascar,Malawi,Malaysia,Maldives,Mali,Malta,Martinique,Mauritania,
Mauritius,Mayotte,Mexico,Monaco,Mongolia,Montenegro,Morocco,Mozambique,Namibia,Nauru,Nepal,New Caledonia,Nicaragua,
Niger,Nigeria,Norway,Oman,Pakistan,Palau,Panama,Papua New Guinea,Paraguay,Peru,Philippines,Poland,Portugal,Puerto Rico,
Qatar,Romania,Rwanda,Samoa,San Marino,Senegal,Seychelles,Sierra Leone,Singapore,Slovenia,Solomon Islands,Somalia,
South Africa,South Sudan,Sri Lanka,Sudan,Suriname,Sweden,Tajikistan,Thailand,Timor-Leste,Togo,Tonga,Trinidad and Tobago,
Tunisia,Turkmenistan,Tuvalu,Uganda,Ukraine,Uruguay,Uzbekistan,Vanuatu,Yemen,Zambia,Zimbabwe
"""
_MARK = re.compile("[\u0300-\u036f]")


def _key(name: str) -> str:
    plain = _MARK.sub("", normalized("NFKD", name.casefold()))
    return " ".join(re.findall(r"[^\W_]+", plain)).removeprefix("the ")


def _table() -> dict[str, tuple[str, ...]]:
    """Their names by each name."""
    found: dict[str, tuple[str, ...]] = {}
    for row in _NAMES.strip().splitlines():
        official, _, others = row.partition(":")
        names = tuple(name.strip() for name in official.split("|"))
        found |= {_key(one): names for one in (*names, *others.split(",")) if _key(one)}
    one_name = (name.strip() for name in _OTHERS.replace("\n", "").split(","))
    return found | {_key(name): (name,) for name in one_name}


_BY_NAME = _table()


def country_names(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """ClinicalTrials.gov's names of the countries in `text` (one, or several with commas, semicolons or "or" between
    them), and a remark on each that is unknown and stays as written."""
    line = clean_line(text.replace('"', " "))
    given = [line] if _key(line) in _BY_NAME else re.split(r"[;,/|]| (?:or|and|OR|AND) ", line)
    names: dict[str, None] = {}
    remarks: list[str] = []
    for one in filter(None, map(clean_line, given)):
        known = _BY_NAME.get(_key(one), ())
        names |= dict.fromkeys(known or (one,))
        if not known:
            near = get_close_matches(_key(one), _BY_NAME, n=1, cutoff=0.75)
            hint = f' Did you mean "{_BY_NAME[near[0]][0]}"?' if near else ""
            remarks.append(f'country "{one[:40]}" is not a name known here and was searched as written.{hint}')
    return tuple(names), tuple(remarks)


TrialStatus = Literal[
    "not_yet_recruiting",
    "recruiting",
    "enrolling_by_invitation",
    "active_not_recruiting",
    "completed",
    "suspended",
    "terminated",
    "withdrawn",
    "unknown",
]
TrialPhase = Literal["early_phase1", "phase1", "phase2", "phase3", "phase4", "na"]
StudyType = Literal["any", "interventional", "observational", "expanded_access"]
_NUMBERS_ONLY = re.compile(r"\(?NCT[0-9]{8}(?:(?:[\s,()]|\bOR\b)+NCT[0-9]{8})*\)?", re.IGNORECASE)
_SPECIAL = '[]{}()"'
MAX_COUNTRY = 200


class TrialRequest(SearchRequest):
    """The arguments of `trial_search`; one of `query`, `condition` and `intervention` is needed.

    They are words or ClinicalTrials.gov's own syntax. A trial needs one of `status`, one of `phase`, and a site in
    `country`. Without a query, `condition` and `intervention` stand for it. `since` is the first day
    ("YYYY-MM-DD") on which a trial may have been posted, "" = any.
    """

    LAST_RESULT: ClassVar[int] = 1_000
    NARROWING: ClassVar[str] = (
        "Only the first 1,000 results of a search of trials can be reached: narrow it by condition, intervention, "
        "status, phase or country."
    )

    condition: str = ""
    intervention: str = ""
    status: tuple[TrialStatus, ...] = ()
    phase: tuple[TrialPhase, ...] = ()
    study_type: StudyType = "any"
    has_results: bool = False
    country: str = ""
    since: str = ""

    @model_validator(mode="before")
    @classmethod
    def _take_fields_for_query(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        if clean_line(str(given.get("query", ""))):
            return given
        if not (named := _described(str(given.get("condition", "")), str(given.get("intervention", "")))):
            raise InvalidInputError("Pass one of query, condition and intervention: all are blank.")
        return {**given, "query": named}

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        for name in ("condition", "intervention"):
            text = clean_line(cast("str", getattr(self, name)))
            if text and (problem := query_problem(text)):
                raise InvalidInputError(f"{name}: {problem}.")
        if len(self.country) > MAX_COUNTRY:
            raise InvalidInputError(f"country: at most {MAX_COUNTRY} characters.")
        return self

    def params(self, variant: str) -> dict[str, str]:
        """What is sent to search for `variant` under all filters."""
        is_repetition = variant == _described(self.condition, self.intervention)
        sent = {
            "query.term": "" if is_repetition else without_question_words(variant),
            "query.cond": clean_line(self.condition),
            "query.intr": clean_line(self.intervention),
            "filter.overallStatus": ",".join(one.upper() for one in dict.fromkeys(self.status)),
            "filter.advanced": " AND ".join(filter(None, self._areas())),
            "aggFilters": "results:with" if self.has_results else "",
        }
        return {name: value for name, value in sent.items() if value}

    def _areas(self) -> Iterable[str]:
        yield _either(f"AREA[Phase]{one.upper()}" for one in dict.fromkeys(self.phase))
        yield f"AREA[StudyType]{self.study_type.upper()}" if self.study_type != "any" else ""
        yield f"AREA[StudyFirstPostDate]RANGE[{self.since},MAX]" if self.since else ""
        # "Guinea" must not find Papua New Guinea.
        names = country_names(self.country)[0]
        yield _either(f'AREA[LocationCountry]COVERAGE[FullMatch]"{one}"' for one in names)

    def limits(self) -> Iterator[str]:
        named = {"condition": self.condition, "intervention": self.intervention, "country": self.country}
        yield from (f"{name} {clean_line(value)}" for name, value in named.items() if clean_line(value))
        for name, values in (("status", self.status), ("phase", self.phase)):
            if values:
                yield f"{name} {' or '.join(one.replace('_', ' ') for one in values)}"
        if self.study_type != "any":
            yield f"study type {self.study_type.replace('_', ' ')}"
        if self.has_results:
            yield "only with posted results"
        if self.since:
            yield f"posted since {self.since}"
        yield from super().limits()

    def remarks(self, variant: str) -> Iterable[str]:
        """What is not searched as it was asked for."""
        yield from country_names(self.country)[1]
        filters = ("status", "phase", "study_type", "has_results", "country")
        given = [name for name in filters if getattr(self, name) != type(self).model_fields[name].default]
        if given and _NUMBERS_ONLY.fullmatch(variant):
            named = ", ".join(given)
            yield f"ClinicalTrials.gov ignores filters where the query has only NCT numbers: {named} had no effect."

    def special(self, variant: str) -> str:
        """The characters of the query, condition and intervention that mean something in the query language."""
        return " ".join(one for one in _SPECIAL if one in f"{variant} {self.condition} {self.intervention}")


def _described(condition: str, intervention: str) -> str:
    return clean_line(f"{condition} {intervention}")


def _either(terms: Iterable[str]) -> str:
    known = list(terms)
    return f"({' OR '.join(known)})" if len(known) > 1 else "".join(known)
