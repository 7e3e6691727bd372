#!/usr/bin/env python3
"""Lets GEPA (https://pypi.org/project/gepa) improve a skill, as an optimiser of `skillhub evolve run`.

    skillhub evolve run my-skill --env API_KEY --with \
        "python3 /full/path/gepa_optimiser.py --runner /full/path/run.sh --lm /full/path/model.sh"

The runner is that of `skillhub eval run`; the model is a command that reads a prompt and prints an answer. GEPA tries
versions of SKILL.md on the training cases, graded by `skillhub eval run`, and lets the model reflect on failures. It
never gets held-out cases. Its result becomes a proposal.
"""

import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

import gepa
from gepa.core.adapter import EvaluationBatch, GEPAAdapter

PART = "SKILL.md"


class SkillAdapter(GEPAAdapter):
    """Runs cases of a skill whose SKILL.md is the candidate."""

    propose_new_texts = None

    def __init__(self, request, options):
        self.request = request
        self.options = options
        self.front = front_of(text_of(request))

    def evaluate(self, batch, candidate, capture_traces=False):
        """Returns the share of assertions that hold, for each case."""
        runs = [self.run(case, candidate[PART]) for case in batch]
        return EvaluationBatch(
            outputs=[run["answer"] for run in runs],
            scores=[run["score"] for run in runs],
            trajectories=runs if capture_traces else None,
        )

    def run(self, case, body):
        """Runs one case in a folder of its own."""
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            skill = place / self.request["skill"]
            self.write(skill, case, body)
            command = [
                self.options.skillhub, "eval", "run", f"{skill}/", "--runner", self.options.runner,
                "--out", str(place / "results"), "--json",
            ]
            if self.options.judge:
                command += ["--judge", self.options.judge]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            document = json.loads(done.stdout)
            if "error" in document:
                raise SystemExit(document["error"]["message"])
            decided = document["passed"] + document["failed"]
            run = next((place / "results").glob("eval-*/with_skill/run-1"))
            grading = json.loads((run / "grading.json").read_text())
            failed = [f"{e['text']}: {e['evidence']}" for e in grading["expectations"] if not e["passed"]]
            return {
                "case": case,
                "answer": (run / "answer.txt").read_text(),
                "failed": failed,
                "score": document["passed"] / decided if decided else 0.0,
            }

    def write(self, skill, case, body):
        """Writes the skill with this body, and this case as its only eval."""
        for file in self.request["files"]:
            if "text" in file and file["path"] != PART:
                target = skill / file["path"]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(file["text"])
        inputs = [file for file in case["files"] if "text" in file]
        for file in inputs:
            target = skill / "evals/files" / file["path"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file["text"])
        (skill / "evals").mkdir(parents=True, exist_ok=True)
        evals = {**case, "files": [f"evals/files/{file['path']}" for file in inputs]}
        (skill / "evals/evals.json").write_text(json.dumps({"evals": [evals]}))
        (skill / PART).write_text(self.front + body)

    def make_reflective_dataset(self, candidate, eval_batch, components_to_update):
        """Returns what the model sees of each run."""
        shown = [
            {
                "Inputs": run["case"]["prompt"],
                "Generated Outputs": run["answer"][:4000],
                "Feedback": "Everything held." if not run["failed"] else "Did not hold: " + "; ".join(run["failed"]),
            }
            for run in eval_batch.trajectories
        ]
        return {component: shown for component in components_to_update}


def text_of(request):
    """Returns the text of SKILL.md."""
    return next(file["text"] for file in request["files"] if file["path"] == PART)


def front_of(text):
    """Returns the frontmatter with its last line, which GEPA must not change."""
    end = text.find("\n---", 3) if text.startswith("---") else -1
    return "" if end < 0 else text[: text.find("\n", end + 1) + 1]


def improve(request, options):
    """Returns the patches for a request, and the reason."""
    if not request["cases"]:
        return [], "there are no training cases to learn from"
    text = text_of(request)
    front = front_of(text)

    def model(prompt):
        words = prompt if isinstance(prompt, str) else "\n\n".join(str(message["content"]) for message in prompt)
        return subprocess.run(
            options.lm, shell=True, input=words, capture_output=True, text=True, check=True
        ).stdout

    result = gepa.optimize(
        seed_candidate={PART: text[len(front):]},
        trainset=request["cases"],
        valset=request["cases"],
        adapter=SkillAdapter(request, options),
        reflection_lm=model,
        max_metric_calls=options.budget,
        seed=0,
    )
    best = result.best_candidate[PART]
    scores = result.val_aggregate_scores
    if best == text[len(front):]:
        return [], f"GEPA tried {len(scores)} versions; none does better"
    why = f"GEPA tried {len(scores)} versions; on the training cases {scores[0]:.2f} became {max(scores):.2f}"
    return [{"action": "edit", "content": front + best.rstrip("\n") + "\n"}], why


def main():
    """Reads the request, prints the answer; what GEPA prints goes to the error output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, help="the command that tries a case")
    parser.add_argument("--lm", required=True, help="the command that asks a model: prompt in, answer out")
    parser.add_argument("--judge", help="the command that decides assertions in words")
    parser.add_argument("--budget", type=int, default=60, help="how many cases may be run")
    parser.add_argument("--skillhub", default="skillhub", help="the program")
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):
        patches, rationale = improve(json.load(sys.stdin), options)
    json.dump({"v": 1, "patches": patches, "rationale": rationale}, sys.stdout)


if __name__ == "__main__":
    main()
