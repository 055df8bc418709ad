"""Time-varying relations: signed bags, the delta convention and its laws."""
