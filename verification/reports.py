"""Seven reports as their readers meet them: built in the shell, opened in a browser, asked of axe.

    python verification/reports.py [--only senate tree] [--keep FOLDER] [--pictures FOLDER]

Each is made as a user would, `dcomp fit` (or the command of its field) and then `dcomp report`, and
opened in Chromium in light, in dark and as wide as a phone. There every panel is clicked, every
search box takes text, every list each of its values, axe-core is asked of every panel, and the page
is printed. What the browser complains of, what is wider than the screen, what the page asks of a
network, and numbers that are none ("NaN") are counted beside axe's findings. Writes
results/reports.md; --pictures keeps a screenshot of every panel in every view and the printed page,
for a person to look at. Needs the extra `browser`, a Chromium (DCOMP_BROWSER names another program)
and the real data (DCOMP_DATA). --keep FOLDER keeps fits and reports, and takes fits that are there.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from common import data_file, row, write

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "light",
        "device_scale_factor": 2,
        "has_touch": True,
        "is_mobile": True,
    },
}
SEVERITIES = ("critical", "serious", "moderate", "minor")
PAINTS = "performance.getEntriesByName('first-contentful-paint')"
NO_NUMBER = re.compile(r"\b(NaN|undefined|null|Infinity|\[object)\b")
HEADS = (
    "report", "panels", "fit", "write", "size", "first paint", *SEVERITIES, "wrong", "printed",
)  # fmt: skip
ABOUT = """`python verification/reports.py`: made in the shell by the lines below, opened in
Chromium in light, in dark and as wide as a phone. axe-core is asked of every panel in each of the
three; its findings are counted by element. "wrong" counts complaints of the browser, requests to a
network, panels that are empty or wider than the screen, and numbers that are none.
Seconds are those of the clock, on whatever else the machine does meanwhile."""
RUNS = 3  # fresh tabs for the first paint

# Lines of the shell, in the folder of the reports; {data} is that of the real data.
LINES: dict[str, tuple[str, ...]] = {
    "newsgroups": (
        "fit {data}/newsgroups20.jsonl.xz -k 50 --labels group --without headers,quotes "
        "--min-docs 10 --max-docs 0.3 -o newsgroups.dcomp",
        "report newsgroups.dcomp {data}/newsgroups20.jsonl.xz -o newsgroups.html "
        '--title "Fifty topics of twenty newsgroups"',
    ),
    "senate": (
        "rollcall {data}/senate2003/votes.csv -k 4 -o senate.dcomp",
        "report senate.dcomp {data}/senate2003/votes.csv -o senate.html",
    ),
    "hapmap3": (
        "admixture {data}/genotypes/hapmap3/hapmap3.bed -k 3 -o hapmap3",
        "report hapmap3.3.dcomp {data}/genotypes/hapmap3/hapmap3.bed -o hapmap3.html",
    ),
    "exomes": (
        "signatures {data}/signatures/tcga_exomes.96.csv.xz -k 20 -o exomes.dcomp "
        "--reference {data}/signatures/sbs_exome_signatures.csv --no-intervals",
        "report exomes.dcomp {data}/signatures/tcga_exomes.96.csv.xz "
        "--reference {data}/signatures/sbs_exome_signatures.csv -o exomes.html",
    ),
    "inaugural": (
        "fit {data}/inaugural/inaugural.jsonl.xz -k 8 --labels year,party,president --min-docs 3 "
        "-o inaugural.dcomp",
        "report inaugural.dcomp {data}/inaugural/inaugural.jsonl.xz -o inaugural.html",
    ),
    "tree": (
        "fit {data}/ap/ap.dat --vocab {data}/ap/vocab.txt --model tree --branching 5 --depth 3 "
        "--max-docs 0.2 -o tree.dcomp",
        "report tree.dcomp {data}/ap/ap.dat --vocab {data}/ap/vocab.txt -o tree.html",
    ),
    "demo": ("demo --report demo.html",),
}


@dataclass
class Seen:
    """What was seen of one report."""

    name: str
    fit_seconds: float = 0.0
    write_seconds: float | None = None  # None: written by the line that fitted
    bytes: int = 0
    paint: float = 0.0
    panels: list[str] = field(default_factory=list)
    axe: Counter[str] = field(default_factory=Counter)  # nodes by severity
    rules: Counter[str] = field(default_factory=Counter)  # nodes by rule, panel and view
    wrong: list[str] = field(default_factory=list)
    printed: int = 0  # pages


def build(name: str, folder: Path, seen: Seen) -> Path:
    """The lines of the shell that make a report, timed; a fit that is there already stays."""
    page, fitted = folder / f"{name}.html", folder / f"{name}.fitted"
    program = shutil.which("dcomp", path=str(Path(sys.executable).parent)) or "dcomp"
    data = str(data_file())
    for line in LINES[name]:
        words = shlex.split(line.replace("{data}", shlex.quote(data)))
        if words[0] != "report" and fitted.exists():
            continue
        begin = time.perf_counter()
        done = subprocess.run(
            [program, *words, "--force"], cwd=folder, capture_output=True, text=True
        )
        seconds = time.perf_counter() - begin
        if done.returncode:
            sys.exit(f"dcomp {line}\n{done.stderr}")
        if words[0] == "report":
            seen.write_seconds = seconds
        else:
            seen.fit_seconds += seconds
            fitted.touch()
    return page


def first_paint(browser: Any, page: Path) -> float:
    """Chromium's own figure in milliseconds, the median of fresh tabs."""
    found = []
    for _ in range(RUNS):
        tab = browser.new_page()
        tab.goto(page.as_uri())
        while not tab.evaluate(f"{PAINTS}.length"):  # no function: the page's policy forbids eval
            tab.wait_for_timeout(10)
        found.append(tab.evaluate(f"{PAINTS}[0].startTime"))
        tab.close()
    return median(found)


def look(browser: Any, path: Path, view: str, seen: Seen, pictures: Path | None) -> None:
    """Every panel in one view."""
    context = browser.new_context(bypass_csp=True, **VIEWS[view])
    page = context.new_page()
    page.on("console", lambda said: _console(said, view, seen))
    page.on("pageerror", lambda error: seen.wrong.append(f"{view}: {error}"))
    page.on("request", lambda request: _asked(request.url, view, seen))
    page.goto(path.as_uri())
    for number, tab in enumerate(page.get_by_role("tab").all()):
        tab.click()
        panel = page.get_by_role("tabpanel")
        name = panel.get_attribute("id").removeprefix("panel-")
        _ask_axe(page, f"{name}, {view}", seen)
        if pictures is not None:
            where = pictures / f"{seen.name}-{view}-{number:02d}-{name}.png"
            page.screenshot(path=where, full_page=True)
        _use(panel)
        _check(page, panel, f"{name}, {view}", seen)
        if view == "light":
            seen.panels.append(tab.inner_text())
    if view == "light":
        paper = page.pdf()
        seen.printed = len(re.findall(rb"/Type\s*/Page\b", paper))
        if pictures is not None:
            (pictures / f"{seen.name}.pdf").write_bytes(paper)
    context.close()


def _console(said: Any, view: str, seen: Seen) -> None:
    if said.type in ("error", "warning"):
        seen.wrong.append(f"{view}: {said.text}")


def _asked(url: str, view: str, seen: Seen) -> None:
    if not url.startswith(("file:", "blob:", "data:")):
        seen.wrong.append(f"{view}: asked for {url}")


def _ask_axe(page: Any, where: str, seen: Seen) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for rule in Axe().run(page).response["violations"]:
        seen.axe[rule["impact"]] += len(rule["nodes"])
        node = rule["nodes"][0]["html"][:80]
        seen.rules[f"{rule['impact']}: {rule['id']} ({where}), as `{node}`"] += len(rule["nodes"])


def _use(panel: Any) -> None:
    """Type in every box, take every value of every list, open all that is folded."""
    for box in panel.locator('input[type="search"]').all():
        for typed in ("no such thing <b>", "a", ""):
            box.fill(typed)
    for choice in panel.locator("select").all():
        values = choice.evaluate("c => [...c.options].map((o) => o.value)")
        for value in [*values, values[0]]:
            choice.select_option(value)
    for part in panel.locator("details").all():
        part.evaluate("d => { d.open = true; }")


def _check(page: Any, panel: Any, where: str, seen: Seen) -> None:
    text = panel.inner_text()
    if not text.strip():
        seen.wrong.append(f"{where}: empty")
    # Words of documents may well say "null".
    own = panel.evaluate(
        "p => { const c = p.cloneNode(true); c.querySelectorAll('bdi, .snippet, .body')"
        ".forEach((e) => e.remove()); return c.textContent; }"
    )
    found = NO_NUMBER.search(own)
    if found:
        seen.wrong.append(f"{where}: {own[max(found.start() - 40, 0) : found.end() + 20]!r}")
    if not page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"):
        seen.wrong.append(f"{where}: wider than the screen")


def look_at_all(names: list[str], folder: Path, pictures: Path | None) -> list[Seen]:
    """The reports one after the other."""
    from playwright.sync_api import sync_playwright

    wanted = os.environ.get("DCOMP_BROWSER")
    program = wanted or next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit(f"no browser: none of {', '.join(BROWSERS)} is installed")
    every = []
    with sync_playwright() as control:
        browser = control.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name in names:
            seen = Seen(name)
            path = build(name, folder, seen).absolute()
            seen.bytes = path.stat().st_size
            seen.paint = first_paint(browser, path)
            for view in VIEWS:
                look(browser, path, view, seen, pictures)
            print(name, dict(seen.axe), *seen.rules, *seen.wrong, sep="\n  ")
            every.append(seen)
        browser.close()
    return every


def lines_of(every: list[Seen]) -> list[str]:
    """The page for results/."""
    out = [
        "# Seven reports in a browser",
        "",
        ABOUT,
        "",
        row(*HEADS),
        row(*["---"] * len(HEADS)),
    ]
    for seen in every:
        written = "with the fit" if seen.write_seconds is None else f"{seen.write_seconds:.1f} s"
        found = [seen.axe[severity] for severity in SEVERITIES]
        times = (f"{seen.fit_seconds:.0f} s", written, f"{seen.bytes / 1e6:.1f} MB")
        paint, pages = f"{seen.paint:.0f} ms", f"{seen.printed} pages"
        out.append(row(seen.name, len(seen.panels), *times, paint, *found, len(seen.wrong), pages))
    out.append("")
    for seen in every:
        out += [f"**{seen.name}**: {', '.join(seen.panels)}", "", "```"]
        out += [f"dcomp {line.replace('{data}/', '')}" for line in LINES[seen.name]]
        out += ["```", ""]
        told = [f"- {rule}: {n}" for rule, n in seen.rules.most_common()]
        told += [f"- {what}" for what in seen.wrong]
        out += [*told, ""] if told else []
    return out


def main() -> None:
    """Build, look, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(LINES), default=list(LINES))
    parser.add_argument("--keep", type=Path, help="where fits and reports stay")
    parser.add_argument("--pictures", type=Path, help="where screenshots go")
    given = parser.parse_args()
    for place in (given.keep, given.pictures):
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        every = look_at_all(given.only, given.keep or Path(name), given.pictures)
    if set(given.only) == set(LINES) and all(seen.fit_seconds for seen in every):
        write("reports", lines_of(every))
    bad = sum(seen.axe["serious"] + seen.axe["critical"] + len(seen.wrong) for seen in every)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
