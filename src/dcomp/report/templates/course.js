/** How K was chosen, and how the fit came about. */

panel("choice", (place) => {
  const found = DATA.choice;
  const rows = found.rows;
  const x = rows.map((/** @type {Json} */ r) => r.n_components);
  place.append(h("p", {}, isolated(found.summary)), h("p", {}, `Recommended: ${found.recommended}. This report has ${found.own}.`));
  const draw = (/** @type {string} */ value, /** @type {string | null} */ error, /** @type {string} */ name) => {
    const known = rows.filter((/** @type {Json} */ r) => typeof r[value] === "number");
    if (known.length < 2) return;
    const line = { x: known.map((/** @type {Json} */ r) => r.n_components), y: known.map((/** @type {Json} */ r) => r[value]), error: error ? known.map((/** @type {Json} */ r) => r[error] || 0) : undefined, name };
    place.append(h("figure", { class: "block" }, h("h3", {}, name), lineChart({ series: [line], xName: SAY.components, yName: name, what: `${name} over the number of ${SAY.components}`, dots: true, at: found.recommended }),
      h("figcaption", {}, `The broken line is what is recommended.${error ? " The band is one standard error." : ""}`)));
  };
  draw("log_likelihood", "standard_error", "Held-out log-likelihood per token (higher is better)");
  draw("error", "error_of_error", "Error of cross-validation (lower is better)");
  draw("evidence", "evidence_error", "Log evidence (higher is better)");
  draw("coherence", null, "Coherence (higher is better)");
  draw("stability", null, "Stability across chains (1: the same)");
  const heads = Object.keys(rows[0]).filter((name) => name !== "evidence_is_sound" && rows.some((/** @type {Json} */ r) => typeof r[name] === "number"));
  const tell = (/** @type {any} */ v) => (typeof v !== "number" ? "–" : Number.isInteger(v) ? String(v) : String(Number(v.toPrecision(5))));
  place.append(scrolled("All numbers", plainTable(`By the number of ${SAY.components}, from ${minimum(x)} to ${maximum(x)}`, heads.map((name) => name.replaceAll("_", " ")), rows.map((/** @type {Json} */ r) => heads.map((name) => tell(r[name]))))));
});

panel("chains", (place) => {
  const found = DATA.chains;
  const dashes = ["", "6 3", "2 3", "8 3 2 3"];
  const series = found.lines.map((/** @type {number[][]} */ line, /** @type {number} */ c) => ({ x: line[0], y: line[1], name: `chain ${c}`, dash: dashes[c % 4] }));
  const late = series.map((/** @type {any} */ line) => {
    const from = found.samples ? found.burnIn : (line.x[line.x.length - 1] || 0) / 4;
    const kept = Array.from(line.x, (_, i) => i).filter((i) => line.x[i] > from);
    return { ...line, x: kept.map((i) => line.x[i]), y: kept.map((i) => line.y[i]) };
  }).filter((/** @type {any} */ line) => line.x.length > 1);
  const legend = series.length > 1 ? h("p", { class: "small" }, `${series.length + found.more} chains${found.more ? `, of which ${series.length} are drawn` : ""}; ${found.best === null ? "the best is shown in this report" : `chain ${found.best} is the one shown in this report`}.`) : "";
  const name = capital(found.objective);
  const both = h("div", { class: "wide" });
  place.append(legend, both);
  both.append(h("figure", {}, h("h3", {}, `${name}, sweep by sweep`), lineChart({ series, xName: "sweep", yName: name, what: `${name} over sweeps, ${series.length} chain${series.length > 1 ? "s" : ""}` }), colourKey(series)));
  if (late.length) both.append(h("figure", {}, h("h3", {}, found.samples ? "After the burn-in" : "After the first quarter"), lineChart({ series: late, xName: "sweep", yName: name, what: `${name} of later sweeps` }), h("figcaption", {}, found.samples ? "Chains that agree lie over each other and show no trend." : `A climb that has come to rest is flat at its end.${fallsLast(late[0].y) ? ` There every ${SAY.document} is put where the fit would put it as a new one: for that the last point is lower.` : ""}`)));
  if (found.quantities.length) {
    place.append(scrolled("Mixing", plainTable(`Quantities that do not depend on how ${SAY.components} are numbered: R-hat near 1 says that chains agree; effective draws say how much they are worth.`,
      ["Quantity", "R-hat", "Effective draws", "in the tails", "Draws"], found.quantities.map((/** @type {Json} */ q) => [q.name, q.rhat.toFixed(3), Math.round(q.bulk), Math.round(q.tail), q.draws]))));
  }
  if (found.components) {
    const worst = found.components.map((/** @type {number} */ v, /** @type {number} */ k) => [label(k), v.toFixed(3)]).sort((/** @type {any} */ a, /** @type {any} */ b) => b[1] - a[1]).slice(0, 20);
    place.append(scrolled("By component", plainTable(`R-hat of the main ${SAY.features} of each ${SAY.component}, the worst first`, [capital(SAY.component), "R-hat"], worst)));
  }
});

/** Whether the last value lies visibly below the one before. @param {number[]} values */
function fallsLast(values) {
  const n = values.length;
  return n > 2 && values[n - 2] - values[n - 1] > 0.01 * (maximum(values) - minimum(values));
}

/** Which line is which. @param {{name: string, dash?: string}[]} series */
function colourKey(series) {
  if (series.length < 2) return null;
  return h("ul", { class: "legend" }, ...series.map((line, n) => h("li", {}, s("svg", { viewBox: "0 0 40 10", width: 40, height: 10, "aria-hidden": "true" }, s("line", { x1: 0, x2: 40, y1: 5, y2: 5, stroke: colour(n), "stroke-width": 2, "stroke-dasharray": line.dash || null })), line.name)));
}
