"""Tiny files in the formats of public corpora of texts and of tagged sentences."""


def write_moviereviews(home):
    home.mkdir(parents=True)
    (home / "answers.txt").write_text("0.1 -1 1.1\n-1 -0.1 -1\n-1 -1 -1\n0.5 1.0 -1\n")
    (home / "ratings_train.txt").write_text("0.2\n0.05\n0.9\n1.0\n")
    (home / "texts_train.txt").write_text(
        "a dull film\n\nfun , \u2028 fun\nyes\n", encoding="utf-8"
    )
    (home / "test_rebuilt.tsv").write_text(
        'id\tauthor\trating\ttext\n7\tA+B\t0.25\tan "odd film\n9\tC\t0.75\tgood\n'
    )


def write_moviereviews_words(home):
    home.mkdir(parents=True)
    (home / "answers.txt").write_text("0.1 999999999\n-1 0.5\n")
    (home / "labels_train_amt.txt").write_text("0.2\n0.5\n")
    (home / "labels_test.txt").write_text("0.3\n")
    (home / "data_train_amt.txt").write_text("2 0:1 3:2\n1 1:4\n")
    (home / "data_test.txt").write_text("2 5:1 0:2\n")


def write_ner(home):
    home.mkdir(parents=True)
    (home / "answers_union.txt").write_text(
        "Anna B-PER ? O\nBerg I-PER ? I-PER\n\nyes ? ? ?\n\nOslo ? B-LOC B-ORG\n\n"
    )
    (home / "gold_union.txt").write_text("Anna B-PER\nBerg I-PER\n\nyes O\n\nOslo B-LOC\n\n")
    (home / "test_3250.bio").write_text("Rome B-LOC\n\nno O\nno O\n\n")
