"""What `expand_queries` proposes for topics, to be read and judged as a librarian would.

    python bench/proposals.py FOLDER TOPICS.txt --headings FILE --concepts FILE [--short]

Behind the server stands a PubMed with the whole of MeSH and estimated counts: FOLDER has the records of
bench/recall.py, the two files are described in ncbi/whole_mesh.py. TOPICS.txt has a topic in each line. With --short,
the alternatives of a block after the second are only counted, and what only ranks is marked.

For each proposal, a judge says: keep, weak, or harmful (something is demanded that not every relevant paper names, or
the subject is lost). What no stand-in shows is how PubMed's own term mapping reads words, and its real counts.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from ncbi.estimates import Estimates, Estimating
from ncbi.pubmed import PubMed, serve
from ncbi.whole_mesh import WholeMesh
from recall import Expanding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("topics", type=Path)
    parser.add_argument("--headings", type=Path, required=True)
    parser.add_argument("--concepts", type=Path, required=True)
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    pubmed = PubMed(given.folder, WholeMesh(given.headings, given.concepts))
    server = serve(pubmed, type("Handler", (Estimating,), {"estimates": Estimates(pubmed)}))
    with tempfile.TemporaryDirectory() as home:
        expanding = Expanding(server.server_address[1], home)
        for topic in filter(None, given.topics.read_text(encoding="utf-8").splitlines()):
            told = expanding.expand(topic)
            print(f"\n## {topic}")
            for one in told["queries"]:
                query = _short(one["pubmed_query"]) if given.short else one["pubmed_query"]
                print(f"[{one['strategy']}] {query}\n    {one['rationale']}")
            print("\n".join(f"    ! {warning}" for warning in told.get("warnings", ())))
        expanding.close()
    server.shutdown()


def _short(query: str) -> str:
    """Innermost groups of alternatives with their first two, and how many follow."""

    def cut(group: re.Match[str]) -> str:
        terms = group[1].split(" OR ")
        if terms[-1] == "all[sb]":
            return f"{{ranks: {', '.join(terms[:-1])}}}"
        more = f" +{len(terms) - 2}" if terms[2:] else ""
        return f"{{{' | '.join(terms[:2])}{more}}}"

    plain = query.replace("[MeSH Terms]", "[mh]").replace("[tiab]", "")
    return re.sub(r"\(((?:[^()\"]|\"[^\"]*\"(?:\[[^\]]*\])?)* OR (?:[^()\"]|\"[^\"]*\"(?:\[[^\]]*\])?)*)\)", cut, plain)


if __name__ == "__main__":
    main()
