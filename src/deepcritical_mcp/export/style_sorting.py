"""The order of a bibliography, and the letters that tell apart what an author-date style would cite alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from deepcritical_mcp.export.citation_style import Node
from deepcritical_mcp.export.rich_text import plain
from deepcritical_mcp.export.style_branches import StyleBranches
from deepcritical_mcp.export.style_dates import sortable_date
from deepcritical_mcp.export.style_items import StyleItem, StyleName, with_particle
from deepcritical_mcp.export.style_rendering import EntryWriter
from deepcritical_mcp.text import normalized

_MANY = "100000000"


def in_style_order(items: Sequence[StyleItem], branches: StyleBranches) -> list[StyleItem]:
    """The publications as the style sorts them; as they are if it does not."""
    sort = branches.style.layouts["bibliography"].first("sort")
    return _sorted(items, [one for one in sort.children if one.tag == "key"] if sort else [], branches)


def _sorted(items: Sequence[StyleItem], keys: Sequence[Node], branches: StyleBranches) -> list[StyleItem]:
    """By the first key, and only what is equal by the next ones. What has no value comes last."""
    if not keys or len(items) < 2:
        return list(items)
    groups = defaultdict[str, list[StyleItem]](list)
    for item in items:
        groups[_value(keys[0], item, branches)].append(item)
    values = sorted(filter(None, groups), reverse=keys[0].get("sort") == "descending")
    return [item for value in (*values, "") for item in _sorted(groups.get(value, ()), keys[1:], branches)]


def year_suffixes(ordered: Sequence[StyleItem], branches: StyleBranches) -> dict[str, str]:
    """By key, the letter of each publication that would be cited like another one: same names, same year."""
    if not branches.style.has_year_suffixes:
        return {}
    citation = branches.style.layouts["citation"]
    options = {"et-al-min": _MANY, "form": "long"} if citation.get("disambiguate-add-names") == "true" else {}
    alike = defaultdict[str, list[str]](list)
    for item in _possibly_alike(ordered):
        _, cited = EntryWriter(branches, item, scope="citation", name_options=options).entry()
        if cited:
            alike[plain(cited)].append(item.key)
    groups = [keys for keys in alike.values() if len(keys) > 1]
    return {key: _letters(place) for keys in groups for place, key in enumerate(keys)}


def _possibly_alike(ordered: Sequence[StyleItem]) -> list[StyleItem]:
    """Those that share year and first name, or title if they name nobody, with another one."""
    groups = defaultdict[object, list[StyleItem]](list)
    for item in ordered:
        first = next((names[0] for names in item.names.values() if names), None)
        issued = item.dates.get("issued")
        who = first.family or first.literal if first else plain(item.texts.get("title", ()))
        groups[who, issued.begin[:1] if issued else ()].append(item)
    shared = {item.key for group in groups.values() if len(group) > 1 for item in group}
    return [item for item in ordered if item.key in shared]


def _letters(place: int) -> str:
    """a to z, then aa."""
    letter = chr(ord("a") + place % 26)
    return _letters(place // 26 - 1) + letter if place >= 26 else letter


def _value(key: Node, item: StyleItem, branches: StyleBranches) -> str:
    if macro := key.get("macro"):
        options = {"name-as-sort-order": "all", "et-al-min": key.get("names-min")}
        options["et-al-use-first"] = key.get("names-use-first")
        options["et-al-use-last"] = key.get("names-use-last")
        given = {name: value for name, value in options.items() if value}
        return _collated(plain(EntryWriter(branches, item, name_options=given, sorting=True).macro(macro)))
    name = key.get("variable")
    if name in item.dates:
        return sortable_date(item.dates[name])
    if name in item.names:
        return _collated("; ".join(map(_name, item.names[name])))
    return _collated(plain(item.texts.get(name, ())))


def _name(name: StyleName) -> str:
    return f"{with_particle(name.particle, name.family)}, {name.given}" if not name.literal else name.literal


def _collated(text: str) -> str:
    """`text` for comparing: without case, accents and punctuation."""
    folded = normalized("NFKD", text.replace("ø", "o").replace("ł", "l").replace("Ø", "O")).casefold()
    kept = "".join(letter for letter in folded if letter.isalnum() or letter == " ")
    return " ".join(kept.split())
