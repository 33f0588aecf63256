"""Importers: one package per trace format, each turning one process's files into event tables."""
