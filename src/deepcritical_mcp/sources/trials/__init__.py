"""ClinicalTrials.gov."""
