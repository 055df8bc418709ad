"""The first report of somebody's own, written from what lies in their folders."""
