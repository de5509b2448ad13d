"""How many components real tables have: what a selection says, its fences, and what it costs.

    python verification/how_many_real.py senate thrush hapmap cranfield

Writes results/how_many_real.md: for each table that `select_components` prints, with the advice in
its own words, the evidence's fences, and the seconds of a K against those of one fit of the same K
by the same algorithm. What is done is kept in results/how_many_real.json; a table that is named is
run anew.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
from common import RESULTS, data_file

import dcomp
from dcomp.evaluate import select_components
from dcomp.evaluate.select import decided
from dcomp.evaluate.selection import Candidate, Selection

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from senate import as_counts, read_votes
from smart import cranfield

KEPT = RESULTS / "how_many_real.json"


def senate():
    """Senators of 2003 and their votes; a block of two for each roll call."""
    names, _, votes = read_votes()
    return as_counts(votes[:-1], names[:-1]), [1, 2, 3, 4, 5, 6, 7]


def thrush():
    """155 birds at 7 microsatellites."""
    return dcomp.read(data_file("genotypes", "thrush", "thrush-data.str")), [1, 2, 3, 4, 5]


def hapmap():
    """324 people, every tenth SNP."""
    whole = dcomp.read(data_file("genotypes", "hapmap3", "hapmap3.bed"))
    X = whole.to_scipy().tocsc()
    tenth = np.flatnonzero(whole.features.blocks % 10 == 0)
    blocks = whole.features.blocks[tenth]
    return dcomp.Counts.from_matrix(X[:, tenth].tocsr(), blocks=blocks), [2, 3, 4, 5, 6]


def abstracts():
    """Cranfield's 1,400."""
    return cranfield(data_file("cranfield", "cran.all.1400").parent), [5, 10, 20, 40]


TABLES = {"senate": senate, "thrush": thrush, "hapmap": hapmap, "cranfield": abstracts}


def one(name):
    """A selection, and a fit of one of its K beside it."""
    counts, ks = TABLES[name]()
    started = time.process_time()
    found = select_components(counts, ks, n_chains=3, n_starts=1, n_jobs=1)
    seconds = (time.process_time() - started) / len(ks)
    started = time.process_time()
    dcomp.DCA(found.recommended, n_jobs=1).fit(counts)
    own = time.process_time() - started
    return {
        "documents": counts.n_docs,
        "features": counts.n_features,
        "blocks": int(counts.features.n_blocks),
        "tokens": int(counts.n_tokens),
        "what": TABLES[name].__doc__,
        "hidden": found.hidden,
        "notes": found.notes,
        "candidates": [asdict(c) for c in found.candidates],
        "seconds": seconds,
        "fit_seconds": own,
    }


HEAD = """# How many components real tables have

`python verification/how_many_real.py`: `select_components` with three chains of one start each, and
else as it is by default; a question mark stands before the evidence of chains that have not
settled. Seconds are of processor time, on a busy machine.

"""


def selection(row):
    """What the rule of now says of a row."""
    candidates = tuple(Candidate(**c) for c in row["candidates"])
    near, clear, by = decided(candidates)
    rest = (by, clear, (), row["hidden"])
    return Selection(candidates, near[0], near, "npmi", tuple(row["notes"]), *rest)


def page(kept):
    """What each selection prints."""
    text = HEAD
    for name, row in kept.items():
        found = selection(row)
        text += f"## {name.capitalize()}\n\n{row['what']} {row['documents']:,} documents, "
        text += f"{row['features']:,} features in {row['blocks']:,} block"
        text += f"{'s' * (row['blocks'] > 1)}, {row['tokens']:,} tokens.\n\n```\n{found}\n```\n"
        text += f"\n{row['seconds']:.1f} s per K; one fit of {found.recommended} components takes "
        text += f"{row['fit_seconds']:.1f} s.\n\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES])
    parser.add_argument("--page", action="store_true", help="write the page, and run nothing")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if given.page:
        (RESULTS / "how_many_real.md").write_text(page(kept))
        return
    for name in given.tables or TABLES:
        kept[name] = one(name)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        (RESULTS / "how_many_real.md").write_text(page(kept))
        print(name, selection(kept[name]).summary, flush=True)


if __name__ == "__main__":
    main()
