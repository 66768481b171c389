"""Journals that people cite under a name that is not their record's: renamed ones, and other well-known names."""

from __future__ import annotations

import re

# NLM Catalog: titles that continue each other, and names that readers use.
_GROUPS = """
arch intern med/archives internal medicine/jama intern med/jama internal medicine
arch gen psychiatry/archives general psychiatry/jama psychiatry
arch neurol/archives neurology/jama neurol/jama neurology
arch ophthalmol/archives ophthalmology/jama ophthalmol/jama ophthalmology
arch dermatol/archives dermatology/jama dermatol/jama dermatology
arch surg/archives surgery/jama surg/jama surgery
arch pediatr adolesc med/archives pediatrics adolescent medicine/jama pediatr/jama pediatrics/am j dis child
arch otolaryngol head neck surg/jama otolaryngol head neck surg/jama otolaryngology head neck surgery
br med j/british medical journal/brit med j/bmj/br med j clin res ed
arthritis rheum/arthritis rheumatism/arthritis rheumatol/arthritis rheumatology
am rev respir dis/american review respiratory disease/am j respir crit care med
eur j biochem/european journal biochemistry/febs j/febs journal
proc r soc b/proceedings royal society b/proc biol sci/proc r soc lond b biol sci/proc r soc lond b
phil trans r soc b/philosophical transactions royal society b/philos trans r soc b/philos trans r soc lond b biol sci
proc r soc a/proceedings royal society a/proc math phys eng sci
hoppe seylers z physiol chem/biol chem hoppe seyler/biol chem/biological chemistry
cochrane database syst rev/cochrane database systematic reviews/cochrane library
electroencephalogr clin neurophysiol/clin neurophysiol/clinical neurophysiology
clin orthop relat res/clinical orthopaedics related research/clin orthop
j bone joint surg br/bone joint j/bone joint journal
j bone joint surg am/j bone joint surg/journal bone joint surgery
acta psychiatr scand suppl/acta psychiatr scand/acta psychiatrica scandinavica
angew chem/angewandte chemie/angew chem int ed/angew chem int ed engl
j gerontol/journal gerontology/j gerontol a biol sci med sci/j gerontol b psychol sci soc sci
wkly epidemiol rec/weekly epidemiological record/releve epidemiologique hebdomadaire
mmwr/morbidity mortality weekly report/mmwr morb mortal wkly rep/mmwr recomm rep/mmwr surveill summ
int j obes/international journal obesity/int j obes relat metab disord/int j obes lond
j physiol/journal physiology/j physiol lond
acta crystallogr d/acta crystallogr d biol crystallogr/acta crystallogr d struct biol
plos med/plos medicine/public library science medicine
plos one/public library science one
"""
_PLAIN = re.compile(r"[^\W_]+")


def _plain(name: str) -> str:
    words = _PLAIN.findall(name.casefold())
    return " ".join(word for word in words if word not in ("the", "and", "of"))


_BY_NAME: dict[str, set[int]] = {}
for _number, _row in enumerate(_GROUPS.strip().splitlines()):
    for _name in _row.split("/"):
        _BY_NAME.setdefault(_plain(_name), set()).add(_number)


def is_renamed(one: str, other: str) -> bool:
    """Whether two names are, or were, those of one journal."""
    return not _BY_NAME.get(_plain(one), set()).isdisjoint(_BY_NAME.get(_plain(other), set()))
