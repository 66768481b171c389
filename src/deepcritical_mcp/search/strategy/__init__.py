"""Search strategies as librarians write them for PubMed: read, tested, and written for other databases.

`lines` reads what people paste, numbered or not, and `syntax` a line into a tree, by the field tags of
`field_tags.txt`. `problems` finds what is wrong or missing in it without asking anybody, by `problems.txt`,
`limits.txt`; `checker` asks PubMed: counts, seeds, headings. `missed` finds the words that would have found a seed.
`translation` writes the tree for other databases, by the table `targets.txt` and the subheadings of `subheadings.txt`.
"""
