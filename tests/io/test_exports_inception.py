"""WebAnno TSV of INCEpTION: one file, or a folder or zip of documents and users."""

import zipfile

import pytest

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.io.inception import read_project

HEADER = "#FORMAT=WebAnno TSV 3.3\n"
ENTITY = "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value\n"


def document(*cells, header=HEADER + ENTITY, before="_"):
    """Two sentences of which `cells` are the values of the named entities."""
    words = ["Anna", "Ek", "saw", "Oslo", "😀", "So", "did", "Bo"]
    lines, place = [header, "\n\n"], 0
    for number, (word, cell) in enumerate(zip(words, cells, strict=True)):
        if number in (0, 5):
            lines.append("\n#Text=" + " ".join(words[:5] if number == 0 else words[5:]) + "\n")
        sentence, token = (1, number + 1) if number < 5 else (2, number - 4)
        other = f"{before}\t" if before is not None else ""
        lines.append(f"{sentence}-{token}\t{place}-{place + len(word)}\t{word}\t{other}{cell}\t\n")
        place += len(word) + 1
    return "".join(lines)


ANN = document("PER[1]", "PER[1]", "_", "LOC", "_", "_", "_", "PER")
BOB = document("PER", "PER", "_", "_", "_", "_", "_", "_")
NONE = document(*["_"] * 8)


@pytest.fixture
def project(tmp_path):
    for path, text in {
        "annotation/a.txt/ann.tsv": ANN,
        "annotation/a.txt/bob.tsv": BOB,
        "annotation/a.txt/INITIAL_CAS.tsv": NONE,
        "annotation/b.txt/ann.tsv": NONE,
        "curation/a.txt/CURATION_USER.tsv": ANN,
        "source/a.txt": "Anna Ek saw Oslo",
        "exportedproject.json": "{}",
    }.items():
        (tmp_path / "p" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "p" / path).write_text(text, encoding="utf-8")
    return tmp_path / "p"


def tags(labels, annotator, sentence):
    ann = labels.annotations
    code = ann.annotators.tolist().index(annotator)
    name = labels.sentences.names.tolist().index(sentence)
    wanted = labels.sentences.tokens_of(name).tolist()
    said = {i: ann.classes[k] for i, a, k in zip(ann.item, ann.annotator, ann.label, strict=True)
            if a == code}  # fmt: skip
    return [said.get(token) for token in wanted]


def check_project(labels):
    ann = labels.annotations
    assert ann.annotators.tolist() == ["ann", "bob"]
    assert labels.sentences.names.tolist() == ["a.txt:1", "a.txt:2", "b.txt:1", "b.txt:2"]
    assert tags(labels, "ann", "a.txt:1") == ["B-PER", "I-PER", "O", "B-LOC", "O"]
    assert tags(labels, "bob", "a.txt:1") == ["B-PER", "B-PER", "O", "O", "O"]
    assert tags(labels, "ann", "a.txt:2") == ["O", "O", "B-PER"]
    assert tags(labels, "ann", "b.txt:1") == ["O"] * 5  # looked and found nothing
    assert tags(labels, "bob", "b.txt:1") == [None] * 5
    assert ann.source.known["a.txt:1:3"] == "B-LOC"
    note = ann.source.notes[0]
    assert "5 spans of NamedEntity.value in 2 documents by 2 annotators" in note
    assert "1 curated documents are known truths" in note
    assert "document before annotation (1)" in note


def test_a_folder_and_a_zip_of_a_project(project, tmp_path):
    check_project(mh.read(project))
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as packed:
        for path in sorted(project.rglob("*")):
            packed.write(path, path.relative_to(project).as_posix())
    check_project(mh.read(tmp_path / "p.zip"))
    assert mh.io.LabelFile(project).tokens == "webanno"


def test_a_folder_of_documents_or_of_one_and_a_file(project):
    assert len(mh.read(project / "annotation")) == 4
    one = mh.read(project / "annotation" / "a.txt")
    assert one.sentences.names.tolist() == ["a.txt:1", "a.txt:2"]
    labels = mh.read(project / "annotation" / "a.txt" / "ann.tsv")
    assert labels.annotations.annotators.tolist() == ["ann"]
    assert tags(labels, "ann", "1") == ["B-PER", "I-PER", "O", "B-LOC", "O"]


def test_conll_files_of_users(tmp_path):
    folder = tmp_path / "annotation" / "a.txt"
    folder.mkdir(parents=True)
    (folder / "ann.conll").write_text("Anna B-PER\nEk I-PER\n\nSo O\n")
    (folder / "bob.conll").write_text("Anna _ _ B-PER\nEk _ _ O\n\nSo _ _ O\n")
    labels = mh.read(tmp_path)
    assert tags(labels, "ann", "a.txt:1") == ["B-PER", "I-PER"]
    assert tags(labels, "bob", "a.txt:1") == ["B-PER", "O"]
    assert tags(labels, "bob", "a.txt:2") == ["O"]


def read_one(*cells, header=HEADER + ENTITY, before="_", **settings):
    files = {"d": {"ann": document(*cells, header=header, before=before)}}
    return read_project(files, "p", **settings).labels


def test_escapes_and_values_that_are_not_set():
    labels = read_one("A\\|B", "*", "x\\[1\\]", *["_"] * 5)
    assert tags(labels, "ann", "d:1")[:3] == ["B-A|B", "O", "B-x[1]"]
    assert "span without a label (1)" in labels.annotations.source.notes[0]


def test_a_span_over_two_sentences_begins_anew():
    labels = read_one("_", "_", "_", "_", "X[1]", "X[1]", "X[1]", "_")
    assert tags(labels, "ann", "d:1")[-1] == "B-X"
    assert tags(labels, "ann", "d:2") == ["B-X", "I-X", "O"]


def test_layers_are_chosen_or_named():
    pos = "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue\n"
    own = "#T_SP=webanno.custom.Mood|value\n"
    cells = ["good", *["_"] * 7]
    labels = read_one(*cells, header=HEADER + pos + own, before="NN")
    assert labels.annotations.source.label == "Mood.value"
    two = HEADER + "#T_SP=webanno.custom.Topic|value\n" + own
    with pytest.raises(DataError, match=r"p: several features.*Topic\.value.*Mood\.value.*label="):
        read_one(*cells, header=two, before="x")
    for label in ("Mood", "Mood.value"):
        labels = read_one(*cells, header=two, before="x", label=label)
        assert tags(labels, "ann", "d:1")[0] == "B-good"


def test_a_layer_without_features_marks_spans_of_its_name():
    labels = read_one("*[1]", "*[1]", *["_"] * 6, header=HEADER + "#T_SP=webanno.custom.Pun|\n",
                      before=None)  # fmt: skip
    assert tags(labels, "ann", "d:1")[:3] == ["B-Pun", "I-Pun", "O"]


def test_what_tags_cannot_express_is_refused():
    with pytest.raises(DataError, match=r"p, d/ann: the span 'Ek saw' overlaps"):
        read_one("A[1]", "A[1]|B[2]", "B[2]", *["_"] * 5)
    part = ANN.replace("1-3\t", "1-2.1\t8-9\tk\t_\tORG\t\n1-3\t")
    with pytest.raises(DataError, match="part of a token; choose alignment='widen'"):
        read_project({"d": {"ann": part}}, "p")
    with pytest.raises(DataError, match="other tokens than in the files of other users"):
        read_project({"d": {"ann": ANN, "bob": BOB.replace("saw", "met")}}, "p")
    with pytest.raises(DataError, match="no file of an annotator"):
        read_project({"d": {"CURATION_USER": ANN}}, "p")
    with pytest.raises(DataError, match="line 9: 3 cells where 5 are expected"):
        read_project({"d": {"ann": ANN.replace("saw\t_\t_\t", "saw")}}, "p")


def test_settings_of_tables_are_refused(project):
    with pytest.raises(SettingError, match="item"):
        mh.read(project, item="id")
    with pytest.raises(DataError, match="which is task='tagging'"):
        mh.read(project, task="classification")
    (project / "empty").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        mh.read(project / "empty")


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def user_zip(tmp_path, name, text):
    path = zipped(tmp_path / "user.zip", {name: text, "TypeSystem.xml": "<xml/>"})
    return path.read_bytes()


def test_a_zip_of_a_whole_project_is_read_by_every_command(project, tmp_path):
    files = {
        str(path.relative_to(project)): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file()
    }
    file = mh.io.LabelFile(zipped(tmp_path / "p.zip", files))
    check_project(file.read_tokens().labels)
    assert file.names == [str(tmp_path / "p.zip")]
    below = mh.io.LabelFile(project / "annotation")
    assert below.names == [str(project / "annotation")]
    assert below.read_tokens().labels.annotations.n_annotators == 2


def test_a_zip_per_user_is_read_as_a_file_per_user(tmp_path):
    users = {
        "annotation/a.txt/ann.zip": user_zip(tmp_path, "ann.tsv", ANN),
        "annotation/a.txt/bob.zip": user_zip(tmp_path, "bob.tsv", BOB),
    }
    labels = mh.read(zipped(tmp_path / "p.zip", users))
    assert labels.annotations.annotators.tolist() == ["ann", "bob"]
    assert tags(labels, "bob", "a.txt:1")[:2] == ["B-PER", "B-PER"]
    folder = tmp_path / "folder"
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        archive.extractall(folder)
    assert mh.read(folder).annotations.annotators.tolist() == ["ann", "bob"]


def test_projects_that_are_too_large_or_xmi_are_refused(tmp_path, monkeypatch):
    users = {"annotation/a.txt/ann.zip": user_zip(tmp_path, "ann.xmi", "<xmi/>")}
    with pytest.raises(DataError, match=r"ann\.zip: is XMI; export the project as WebAnno TSV"):
        mh.read(zipped(tmp_path / "xmi.zip", users))
    monkeypatch.setattr("manyhands.io.inception.MAX_UNPACKED", 100)
    monkeypatch.setattr("manyhands.io.inception.MAX_RATIO", 0)
    with pytest.raises(DataError, match="unpack to more than is allowed; unpack the archive"):
        mh.read(zipped(tmp_path / "p.zip", {"annotation/a.txt/ann.tsv": ANN}))


def test_a_damaged_archive_is_named_wherever_it_is_damaged(tmp_path):
    whole = tmp_path / "project.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        for user in ("anna", "ben"):
            archive.writestr(f"annotation/doc/{user}.tsv", "#FORMAT=WebAnno TSV 3.3\n")
    content = whole.read_bytes()
    for place in range(len(content) - 120, len(content)):  # the list of files and its end
        (tmp_path / "damaged.zip").write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        with pytest.raises(DataError, match=r"damaged\.zip|\.tsv"):
            mh.read(tmp_path / "damaged.zip")
