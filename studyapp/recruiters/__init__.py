"""Recruiting sites that are spoken to: one client a site, without the database."""
