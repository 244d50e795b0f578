"""The results of the study as tables, figures and a document with the claims of the paper."""
