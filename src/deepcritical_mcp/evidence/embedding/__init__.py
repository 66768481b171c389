"""Text embeddings.

`service` has the models, one of them for each process, and embeds with it; `calibration` what was measured with each
model; `projection` draws vectors on a map.
"""
