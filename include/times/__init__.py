"""When the runs of a day are: chosen, forecast, and under the ceiling of a cluster."""
