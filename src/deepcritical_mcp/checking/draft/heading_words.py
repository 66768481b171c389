"""What headings of lists of references, and of what follows them, say in many languages, in small letters."""

from __future__ import annotations

import re

LIST_TITLES = frozenset(
    """
    additional references|bibliografia|bibliografia citada|bibliografie|bibliographic references
    bibliographical references|bibliographie|bibliography|cited literature|cited references|cited works
    daftar pustaka|further references|irodalom|kaynaklar|key references|kilder|kirjallisuus
    list of references|lista de referencias|literatur|literatura|literaturangaben|literature|literature cited
    literature references|literaturliste|literaturverzeichnis|literatuur|literatuurlijst|litteratur
    litteraturliste|main references|methods references|notes and references|numbered references|obras citadas
    online references|quellenverzeichnis|referanser|reference|reference list|reference section|references
    references and notes|references cited|references list|references used|referencias|referencie|referenser
    referenslista|referenties|referenzen|riferimenti|riferimenti bibliografici|rujukan|selected bibliography
    selected references|seznam literatury|supplemental references|supplementary references|verified references
    viitteet|works cited|zitierte literatur|bibliografie selectivă|bibliografía|bibliografía citada
    hivatkozások|irodalomjegyzék|kaynakça|källförteckning|källor|liste de références|liste des références
    litteraturförteckning|lähteet|ouvrages cités|piśmiennictwo|referencias bibliográficas|referințe
    referências|referências bibliográficas|références|références bibliographiques|tài liệu tham khảo
    βιβλιογραφία|библиография|литература|література|список використаних джерел
    список использованной литературы|список источников|список литературы|список літератури|מקורות|المراجع
    مراجع|منابع|संदर्भ|เอกสารอ้างอิง|参考文献|参考文献列表|参考资料|參考文獻|引用文献|文献|참고 문헌|참고문헌
    """.strip()
    .replace("\n    ", "|")
    .split("|")
)
POSSIBLE_LIST_TITLES = frozenset(
    """
    anmerkungen|citations|cited papers|cited studies|endnotes|evidence|fonti|footnotes|fuentes
    further reading|included studies|key papers|links|note|notes|papers|publications|quellen
    recommended reading|references and further reading|remarques|source list|sources|sources and references
    sources cited|works consulted|fußnoten|источники
    """.strip()
    .replace("\n    ", "|")
    .split("|")
)
"""Also those of other parts of a draft: what stands under them decides."""
LIST_WORDS = re.compile(
    r"""\b(?:references|bibliograph(?:y|ies|ie)|bibliograf[ií]a|works\ cited|cited\ works|literature\ cited|literatur
    |citations|références|referencias|referências|riferimenti|литератур[аы]|参考文献)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""In a longer heading, "References for this letter": what stands under it decides, too."""
MARKED_LIST_WORDS = re.compile(r"\b(?:reading list|papers|articles|publications|links)\b", re.IGNORECASE)
"""The same, if the entries are numbered or have bullets."""
OTHER_TITLES = re.compile(
    r"""(?:appendix|appendices|annex(?:es)?|acknowledge?ments?|figures?(?:\ (?:legends?|captions?))?
    |tables?(?:\ (?:legends?|captions?))?|(?:figure|table|fig\.|box|scheme)\ [0-9A-Z]{1,4}\b.{0,300}
    |legends?(?:\ to\ figures)?|captions|abbreviations|glossary|funding(?:\ (?:statement|sources?))?
    |supplement(?:ary|al)?(?:\ (?:materials?|information|data|files?|tables?|figures?|methods?))?
    |supporting\ information|author(?:s['’]?|['’]s)?\ (?:contributions?|information|affiliations|statement)
    |contributions|contributors|competing\ interests?.{0,20}|conflicts?\ of\ interests?.{0,20}
    |declarations?(?:\ of.{1,40})?|disclosures?|disclaimer|ethics.{0,40}|data\ (?:and\ code\ )?availability.{0,20}
    |availability\ of.{1,30}|code\ availability|about\ the\ authors?|correspondence|anhang|danksagung|tabellen
    |abbildungen|remerciements|agradecimientos|agradecimentos|anexos?|apéndices?|ringraziamenti|introduction
    |background|(?:online\ )?methods(?:\ section)?|results|discussion|conclusions?|abstract|extended\ data.{0,40}
    |приложени[ея]|благодарности|附录|致谢)(?:\ [0-9A-Z]{1,3})?""",
    re.VERBOSE | re.IGNORECASE,
)
