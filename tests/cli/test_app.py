"""The commands, end to end: files for every kind of target, one sentence for every kind of trouble."""

import json
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import didact
from didact.cli import main
from didact.cli.app import app

pytestmark = pytest.mark.usefixtures("few_models")
RUNNER = CliRunner()
RANDOM = np.random.default_rng(3)
N = 120
X = RANDOM.normal(size=N)
COLOUR = RANDOM.choice(["red", "green"], N)
TARGETS = {
    "binary": np.where(X + 0.5 * RANDOM.normal(size=N) > 0, "yes", "no"),
    "multiclass": np.digitize(X, [-0.5, 0.5]),
    "regression": 3 * X + (COLOUR == "red") + 0.1 * RANDOM.normal(size=N),
    "count": RANDOM.poisson(np.exp(2 + 0.5 * X)),
}


def csv(path, target):
    table = pl.DataFrame({"x": X, "colour": COLOUR, "row": np.arange(N), "answer": target})
    table.with_columns(x=pl.when(pl.int_range(N) == 3).then(None).otherwise("x")).write_csv(path)
    return str(path)


def run(*arguments):
    return RUNNER.invoke(app, [str(a) for a in arguments])


@pytest.mark.parametrize("kind", TARGETS)
def test_a_study_leaves_report_scores_and_a_model_that_predicts(tmp_path, kind):
    data, out = csv(tmp_path / "data.csv", TARGETS[kind]), tmp_path / "out"
    result = run("study", data, "--target", "answer", "--out", out, "--folds", 3)
    assert result.exit_code == 0, result.output
    assert "row number" in result.output
    assert sorted(path.name for path in out.iterdir()) == ["model.didact", "report.html", "scores.json"]
    scores = json.loads((out / "scores.json").read_text())
    assert scores["task"] == kind
    assert scores["best"] != "Dummy"
    first = scores["measures"][0]["key"]
    assert scores["held_out"]["gain_over_dummy"][first]["low"] > 0

    result = run("predict", out / "model.didact", data, "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    predicted = pl.read_csv(tmp_path / "p.csv")
    assert len(predicted) == N
    model = didact.load(out / "model.didact")
    assert predicted["prediction"].to_list() == pytest.approx(model.predict(pl.read_csv(data)).tolist())
    if kind in ("binary", "multiclass"):
        assert predicted.drop("prediction").sum_horizontal().to_numpy() == pytest.approx(np.ones(N))
        assert np.mean(predicted["prediction"].to_numpy() == TARGETS[kind]) > 0.7
    else:
        assert np.corrcoef(predicted["prediction"], TARGETS[kind])[0, 1] > 0.7


def test_a_time_limit_is_told_in_the_terminal_and_on_the_page(tmp_path):
    data = csv(tmp_path / "data.csv", TARGETS["regression"])
    result = run("study", data, "--target", "answer", "--out", tmp_path / "out", "--time-limit", "0.01")
    assert result.exit_code == 0, result.output
    assert "Not compared (the report says why): Linear regression" in " ".join(result.output.split())
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert scores["settings"]["time_limit"] == 0.01
    assert {row["why"] for row in scores["not_compared"]} == {"the time limit of 0.01 s was reached"}


def test_the_same_command_gives_the_same_scores(tmp_path):
    data = csv(tmp_path / "data.csv", TARGETS["binary"])
    for name in ("a", "b"):
        assert run("study", data, "--target", "answer", "--out", tmp_path / name, "--folds", 3).exit_code == 0
    assert (tmp_path / "a/scores.json").read_bytes() == (tmp_path / "b/scores.json").read_bytes()


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (None, ["--target", "y"], "There is no file"),
        ("", ["--target", "y"], "is empty"),
        ("a,b\n1,2,3\n", ["--target", "a"], "cannot be read as CSV"),
        ("a,answer\n" + "1,2\n" * 30, ["--target", "anser"], "did you mean 'answer'?"),
        ("a,y\n" + "1,2\n" * 30, ["--target", "y"], "is constant"),
        ("a,y\n1,2\n2,3\n", ["--target", "y"], "Only 2 rows"),
        ("a,y\n" + "5,1.5\n5,2.5\n5,3.25\n" * 10, ["--target", "y"], "No column is left"),
        ("a,y\n" + "".join(f"{i % 7},{i}.5\n" for i in range(30)), ["--target", "y", "--folds", "20"], "too many"),
    ],
)
def test_bad_input_gets_one_sentence_and_no_traceback(tmp_path, content, arguments, sentence):
    path = tmp_path / "data.csv"
    if content is not None:
        path.write_text(content)
    result = run("study", path, *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_a_file_where_the_folder_should_be_is_said_before_the_work(tmp_path):
    data = csv(tmp_path / "data.csv", TARGETS["binary"])
    result = run("study", data, "--target", "answer", "--out", data)
    assert (result.exit_code, "is a file" in result.stderr) == (2, True)


def test_predict_says_what_is_wrong(tmp_path):
    data = csv(tmp_path / "data.csv", TARGETS["binary"])
    run("study", data, "--target", "answer", "--out", tmp_path, "--folds", 2)
    model = tmp_path / "model.didact"
    pl.read_csv(data).drop("colour").write_csv(tmp_path / "less.csv")
    (tmp_path / "none.csv").write_text("x,colour\n")
    (tmp_path / "broken.didact").write_bytes(b"not a model")
    for arguments, sentence in (
        ((model, tmp_path / "less.csv"), "lacks the column 'colour'"),
        ((model, tmp_path / "none.csv"), "has no rows"),
        ((tmp_path / "absent.didact", data), "There is no model file"),
        ((tmp_path / "broken.didact", data), "broken.didact"),
    ):
        result = run("predict", *arguments, "--out", tmp_path / "p.csv")
        assert result.exit_code == 2, result.output
        assert sentence in result.stderr
        assert not (tmp_path / "p.csv").exists()


def test_ctrl_c_ends_with_one_line_and_no_file(tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("didact.study.comparing.cross_validate", interrupted)
    data = csv(tmp_path / "data.csv", TARGETS["binary"])
    result = run("study", data, "--target", "answer", "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted; no file was left half-written.\n"
    assert not (tmp_path / "out").exists()


def test_a_real_signal_ends_a_real_process(tmp_path, heeds_ctrl_c):
    random = np.random.default_rng(0)
    wide = pl.DataFrame({f"x{i}": random.normal(size=4000) for i in range(60)})
    wide.with_columns(y=pl.Series(random.integers(0, 4, 4000))).write_csv(tmp_path / "wide.csv")
    command = [sys.executable, "-m", "didact", "study", "wide.csv", "--target", "y", "--folds", "10", "--out", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline(), process.stdout.readline()]  # at the second one, everything is imported
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "reading" in lines[1], errors
    assert process.returncode == 130, errors
    assert errors == "Interrupted; no file was left half-written.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["wide.csv"]


def test_version_and_help():
    assert run("--version").output == f"didact {didact.__version__}\n"
    assert "study" in run("--help").output
    assert run("study", "--help").exit_code == 0
    assert "scikit-learn" in run("versions").output


def test_a_missing_extra_is_one_sentence(monkeypatch, capsys, tmp_path):
    data = csv(tmp_path / "data.csv", TARGETS["binary"])
    monkeypatch.setitem(sys.modules, "polars", None)
    result = run("study", data, "--target", "answer", "--out", tmp_path / "out")
    assert (result.exit_code, "pip install 'didact[study]'" in result.stderr) == (2, True)
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(sys, "argv", ["didact", "study"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "pip install 'didact[study]'" in capsys.readouterr().err


def test_warm_needs_no_extra(monkeypatch, capsys):
    assert "Compile ahead" in run("--help").output
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(sys, "argv", ["didact", "warm", "datasets"])
    main()
    assert "loops of 0 modules ready" in capsys.readouterr().out
    for wrong, sentence in ((["trees"], "'trees' is no chapter"), (["tree", "--jobs", "0"], "at least 1")):
        monkeypatch.setattr(sys, "argv", ["didact", "warm", *wrong])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 2
        assert sentence in capsys.readouterr().err
