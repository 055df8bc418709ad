"""One day of a report as the person on call sees it: its records, standing, plan, actions."""
