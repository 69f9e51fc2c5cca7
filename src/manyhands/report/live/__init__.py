"""The page on this computer: open a file, choose columns and a method, look at the result.

`guard` decides who is answered, `session` keeps files and results, `jobs` does what takes long, and
`app` has the pages. Nothing here is imported before `manyhands serve` needs it.
"""
