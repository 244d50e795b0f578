"""The study as tables, figures and a document, with the paper's claims beside it."""
