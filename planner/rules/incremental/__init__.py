"""Delta rules: how the change of an operator's output follows from the changes of its inputs."""
