"""Set-up steps: run through the Makefile."""
