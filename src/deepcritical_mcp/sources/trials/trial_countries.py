"""Countries as people write them, and as ClinicalTrials.gov does."""

from __future__ import annotations

import re
from difflib import get_close_matches

from deepcritical_mcp.text import clean_line, normalized

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
