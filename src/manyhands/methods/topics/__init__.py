"""Topic models whose topics explain both the words of documents and their crowd labels.

Axis letters in addition to the usual ones: document `d` (an item), word `w`, topic `t`, and cell
`j`, a word of a document with its count.
"""
