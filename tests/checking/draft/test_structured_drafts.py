"""LaTeX and the files of reference managers: what their parsers say is what a draft is read as."""

import json
import time

import pytest

from deepcritical_mcp.checking.draft import read_draft
from deepcritical_mcp.checking.draft.reading import ManagerEntries
from deepcritical_mcp.search.references import read_reference
from deepcritical_mcp.search.references.latex_text import latex_as_markdown

LATEX = r"""\documentclass{article}\usepackage[utf8]{inputenc}
\title{Zinc in wounds}
\begin{document}\maketitle
\section{Results} Zinc heals ``slowly but surely'' in 50\% \citep[see][p. 3]{a, b}. M\"uller \emph{et al.} found
$p < 0.05$.\footnote{As \textcite{c} said, 3\% died.} % a comment \cite{no}
Copper does not$^{1,2}$ heal\textsuperscript{3}. \enquote{Wounds are \emph{slow}} J{\o}rgensen said \label{x}.

Next, \textbf{a bold text that is longer \cite{d}}, see \url{https://doi.org/10.5555/x_y%20}.
\begin{enumerate}\item One \item Two\end{enumerate}
\begin{quote}A quotation of seven words stands here, too.\end{quote}
\begin{tabular}{@{}ll@{}}\hline a & b \\ c \& d & \cite{e}\\\end{tabular}
\begin{verbatim}\cite{zzz}\end{verbatim}
\begin{thebibliography}{9}
\bibitem[Berg(2020)]{a} Berg, J. \newblock Zinc {DNA} in \textit{J. Z.} \textbf{1}, 2--3.

\bibitem{b} Ru{\'i}z K. \href{https://doi.org/10.5555/x}{Link}.
\end{thebibliography}
\bibliography{refs}
\end{document}"""


def test_latex_is_read_as_headings_paragraphs_notes_items_and_entries() -> None:
    paragraphs = latex_as_markdown(LATEX).split("\n\n")
    assert [" ".join(one.split()) for one in paragraphs if one.strip()] == [
        "## Results",
        "Zinc heals “slowly but surely” in 50% [@a; @b]. Müller et al. found p < 0.05.[^1] Copper does "
        "not<sup>1,2</sup> heal<sup>3</sup>. “Wounds are slow” Jørgensen said .",
        "Next, a bold text that is longer [@d], see https://doi.org/10.5555/x_y%20.",
        "1. One 2. Two",
        "> A quotation of seven words stands here, too.",
        "a & b c & d & [@e]",
        r"[^@a]: Berg, J. \newblock Zinc {DNA} in \textit{J. Z.} \textbf{1}, 2--3.",
        r"[^@b]: Ru{\'i}z K. \href{https://doi.org/10.5555/x}{Link}.",
        "[^1]: As [@c] said, 3% died.",
    ]
    draft = read_draft(LATEX)
    assert [(one.label, one.text[:8]) for one in draft.references] == [("a", "Berg, J."), ("b", "Ru{\\'i}z")]
    assert [one.text for one in draft.quotations] == ["A quotation of seven words stands here, too."]


def test_latex_without_a_preamble_or_with_errors_is_read_to_its_end() -> None:
    text = "One {\\emph{two} \\cite{a}.\n\n} Three \\end{x} four.\n\n\\begin{itemize}\\item Five"
    assert " ".join(latex_as_markdown(text).split()) == "One two [@a]. Three four. - Five"


@pytest.mark.long
@pytest.mark.parametrize(
    "piece",
    [
        *("{", "$", "\\begin{a}\\end{a}", "\\item[", "~"),
        *("{}" * 300 + "\n\n", "{" * 900 + "\n\n", "\\textbf{a} ", "\n@a{b, c={"),
        *('\\sqrt[\\"', "\\url{a\n", "\\textbf\\title", "\\ensuremath", "\\v", "\\\\", "\\H\\href"),
        *("PT J\nAU B\n", "%0 Book\n%T B\n", "<record><ref-type>", "PMID- 1\nTI  - Z\n"),
        *("TY  - JOUR\n", '{"a":', "[", '[{"id": 1},', "\\verb|", "% ", "\\section{a}", "a & b \\\\"),
    ],
)
def test_no_text_raises_or_takes_long(piece: str) -> None:
    text = (piece * 200_000)[:200_000]
    for read in (latex_as_markdown, ManagerEntries):
        before = time.process_time()
        read(text)
        assert time.process_time() - before < 15  # a minute or more if it is not linear


def test_what_is_nested_too_deeply_is_read_as_it_is_written() -> None:
    text = "First \\cite{a}.\n\n" + "{" * 3_000 + "deep\n\nLast \\cite{b}."
    assert latex_as_markdown(text) == text


def test_bibtex_of_all_kinds_is_read_as_it_stands() -> None:
    text = (
        '@string{jz = "J. Z."}\n@comment{none, x={y}}\n@preamble{"x"}\n'
        "@Article{k1, author = {Berg, Jan and {Zinc and Group} and others}, title = {{Z {\\'e} {DNA} b}},\n"
        "  journal = jz, date = {2019-04-01}, pages = {1--2}, doi = {10.5555/x}, title = {twice}}\n"
        "@inproceedings{k2, crossref = {k3}, booktitle = {AAAI}}\n"
    )
    found = ManagerEntries(text)
    assert ([one.label for one in found.entries], found.unread) == (["k1", "k2"], [])
    says = read_reference(found.entries[0].text).says
    assert (says.title, says.journal, says.year, says.pages) == ("Z é DNA b", "J. Z.", "2019", "1-2")
    assert says.people == "Berg, Jan; Zinc and Group; et al"
    assert found.entries[1].text == "@inproceedings{k2, crossref = {k3}, booktitle = {AAAI}}"


def test_a_citation_key_with_a_bracket_behind_it_is_no_entry() -> None:
    found = ManagerEntries("@smith2020 (p. 3, see below) found it.\n\n\\begin{tabular}{@{}l@{}} a\n@{b}\n")
    assert (found.entries, found.unread) == ([], [])


def test_records_of_ris_are_read_without_their_last_line_with_one_blank_and_among_text() -> None:
    text = (
        "1. Adams B. Copper. 2019.\n\nTY - JOUR\nTI - Zinc in\nwounds\nAU - Berg, Jan\nXX - unknown\nPY - 2019\n\n"
        "2. Lee C. Iron. 2018.\nTY  - JOUR\nTI  - Iron\nER  - \n3. Ruiz A. Tin. 2017.\n"
    )
    found = ManagerEntries(text)
    assert len(found.entries) == 2
    first, second = (one.text for one in found.entries)
    assert first.startswith("TY - JOUR")
    assert first.endswith("PY - 2019")
    assert second.endswith("ER  -")
    assert read_reference(first).says.title == "Zinc in wounds"


def test_pubmeds_own_form_is_read() -> None:
    lines = ["PMID- 31111111", "OWN - NLM", "TI  - Zinc in", "      wounds", "FAU - Berg, Jan", "AU  - Berg J"]
    text = "\n".join([*lines, "DP  - 2019 Apr", "LID - 10.5555/x [doi]", ""])
    (entry,) = ManagerEntries(text).entries
    reference = read_reference(entry.text)
    assert (reference.says.title, reference.says.people, reference.says.year) == ("Zinc in wounds", "Berg, Jan", "2019")
    assert (reference.ids.pmid, reference.ids.doi) == ("31111111", "10.5555/x")


def test_issue_group_and_number_of_an_article_are_read_and_the_issn_is_not() -> None:
    nbib = "PMID- 31111111\nIS  - 1234-5678 (Print)\nTI  - Zinc\nIP  - 3\nFAU - Berg, Jan\nCN  - Zinc Group\n"
    says = read_reference(nbib).says
    assert (says.issue, says.people) == ("3", "Berg, Jan; Zinc Group")
    ris = "TY  - JOUR\nTI  - Zinc\nA1  - Zinc Group,\nJF  - Journal of Zinc\nJO  - J Z\nC7  - e123\nPMID  - 31111111\n"
    reference = read_reference(ris)
    assert (reference.says.people, reference.says.journal) == ("Zinc Group", "Journal of Zinc")
    assert (reference.says.pages, reference.ids.pmid) == ("e123", "31111111")


def test_lines_of_nothing_but_a_pmid_are_references_of_their_own() -> None:
    references = [read_reference(one.text) for one in read_draft("PMID- 31000009\nPMID- 31000010\n").references]
    assert [one.ids.pmid for one in references] == ["31000009", "31000010"]
    assert read_reference("PMID - 31000009, Berg on zinc").entry is None


ENW = "%0 Journal Article\n%T Zinc in wounds\n%A Berg, Jan\n%J J Zinc\n%D 2019\n%V 12\n%N 3\n%P 1-2\n%R 10.5555/x\n"
WOS = (
    "PT J\nAU Berg, J\nAF Berg, Jan\nTI Zinc in\n   wounds\nSO J Zinc\nPY 2019\nVL 12\nIS 3\nBP 1\nEP 2\n"
    "DI 10.5555/x\nER\n"
)
XML = (
    '<record><ref-type name="Journal Article">17</ref-type><contributors><authors><author>Berg, Jan</author></authors>'
    "</contributors><titles><title>Zinc in <style>wounds</style></title><secondary-title>J Zinc</secondary-title>"
    "</titles><pages>1-2</pages><volume>12</volume><number>3</number><dates><year>2019</year></dates>"
    "<electronic-resource-num>10.5555/x</electronic-resource-num></record>"
)


@pytest.mark.parametrize("entry", [ENW, WOS, XML])
def test_records_of_endnote_and_web_of_science_are_read_among_text(entry: str) -> None:
    listed = "1. Adams B, Lee C. Copper in mice. J Met. 2018;12:34-41."
    draft = read_draft(f"# Zinc\n\nZinc heals burns [1].\n\n{entry}\nIT IS so.\n\n## References\n\n{listed}\n")
    assert [one.text for one in draft.references] in ([entry.strip(), listed[3:]], [f"{entry}\nIT IS so.", listed[3:]])
    reference = read_reference(draft.references[0].text)
    says = reference.says
    assert (says.title, says.people, says.journal, says.year) == ("Zinc in wounds", "Berg, Jan", "J Zinc", "2019")
    assert (says.volume, says.issue, says.pages, reference.ids.doi) == ("12", "3", "1-2", "10.5555/x")


@pytest.mark.parametrize(
    "prose",
    [
        "%0 is no number.\n%T is a macro.",
        "%0 Comment here\n%A next one",
        "PT J\nis a line of prose.",
        "AU is gold.\nTI is titanium.",
        "The <record> is a tag of XML, as <records> is.",
        "Title, authors and year\nare columns of a table.",
        "TY was here - really.",
    ],
)
def test_prose_that_looks_like_tags_is_no_record(prose: str) -> None:
    found = ManagerEntries(f"{prose}\n\nMore of it.")
    assert (found.entries, found.unread) == ([], [])


def test_an_object_within_json_is_told_and_not_read_as_one_reference() -> None:
    items = json.dumps({"items": [{"id": "a", "title": "Zinc"}, {"id": "b", "title": "Iron"}]})
    found = ManagerEntries(f"{items}\n{items}")
    assert ([one.label for one in found.entries], len(found.unread)) == (["a", "b"], 1)


def test_json_that_breaks_off_loses_no_item_silently() -> None:
    text = json.dumps([{"id": "a", "title": "A"}, {"id": "b", "title": "B"}])[:-8]
    found = ManagerEntries(text)
    assert ([one.label for one in found.entries], [one.text for one in found.unread]) == (["a"], ['{"id": "b", "title'])


@pytest.mark.parametrize("piece", ["\\cite{a{b}\\emph{", "\\begin{itemize}\\item $x$ \n"])
def test_the_bibliography_behind_what_is_nested_too_deeply_is_read(piece: str) -> None:
    entries = (
        "\\begin{thebibliography}{9}\n\\bibitem{a} Berg A. Zinc. BMJ. 2001;1:2.\n\\bibitem{b} Oka E. Iron. 2005.\n"
    )
    draft = read_draft(f"\\begin{{document}}{piece * 3_000}\n{entries}\\end{{thebibliography}}\n\\end{{document}}\n")
    assert [one.label for one in draft.references] == ["a", "b"]


def test_numbers_of_lines_are_no_entries() -> None:
    lines = [
        "Zinc helps children, as a trial of many years in two of",
        "the largest towns has shown [1], and does no harm [2].",
        "",
        "References",
        "1. Berg JA, Ruiz K. Zinc for warts in children of school",
        "age. J Zinc 2019;12:34–41.",
        "2. Ito M. Copper for burns of the hand: a trial in 9 new",
        "hospitals. Burns 2018;44:1–9.",
    ]
    plain = read_draft("\n".join(lines))
    for mark in ("{} ", "  {}\t", "{:>4}  "):
        draft = read_draft("\n".join(f"{mark.format(at)}{line}" for at, line in enumerate(lines, 211)))
        assert [one.text for one in draft.references] == [one.text for one in plain.references]
        assert len(draft.references) == 2
    prose = [
        (f"Zinc helps the {n} children of a trial in", f"the {n} largest towns [1], and others [2].") for n in range(8)
    ]
    more = [*(part for both in prose for part in both), *lines[2:]]
    draft = read_draft("\n".join(f"{at if at % 5 == 0 else '':>4}  {line}" for at, line in enumerate(more, 212)))
    assert [one.text for one in draft.references] == [one.text for one in plain.references]
    assert [one.claim for one in draft.sentences] == [
        f"{one} {other}".replace(" [1]", "").replace(" [2]", "") for one, other in prose
    ]
