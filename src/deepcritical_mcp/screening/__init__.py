"""Screening in the best order: what is learned from the decisions of a session, and when one may stop.

`learner` has words as numbers and the linear models; `ranking` the order that these give, and which words speak for and
against a record; `stopping` what remains to be found, as far as the decisions tell; `queue` reads all that from a
session. Nothing here is random, and nothing is kept but the words of the records, counted.
"""
