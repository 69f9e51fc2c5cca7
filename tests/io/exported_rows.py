"""Exports are recognised and read; their labels as rows."""

from manyhands.io.exports import EXPORTS, recognise


def read(name, content, **options):
    found = recognise(content)
    assert found is EXPORTS[name]
    return found.read(content, **options)


def rows(labels):
    return list(zip(labels.item, labels.annotator, labels.label, strict=True))
