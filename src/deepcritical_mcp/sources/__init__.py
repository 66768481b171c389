"""The sources of evidence, one folder or file each."""
