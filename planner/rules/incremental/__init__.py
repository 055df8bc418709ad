"""Delta rules: each derives the delta of an operator from the versions of its inputs."""
