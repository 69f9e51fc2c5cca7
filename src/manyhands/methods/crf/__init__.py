"""Linear-chain conditional random fields over the tokens of sentences, and crowds that tag them.

Axis letters in addition to the usual ones: token `t` (an item), sentence `s`, feature `j`. A tag is
a class `k`, and row j, column k of a square belongs to a tag k that follows a tag j. Sentence s has
tokens `offsets[s]` up to `offsets[s + 1]`.
"""
