"""Adapters: everything that touches disk, network, clock or environment, and report definitions."""
