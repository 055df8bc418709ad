"""The command line of Forerun."""
