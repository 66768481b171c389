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
