"""The life of one day: generations, manifests, planned runs, publishing, the ledger."""
