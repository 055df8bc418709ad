"""Decides which runs are opened and which snapshots are kept between them."""
