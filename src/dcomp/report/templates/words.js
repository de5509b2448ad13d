/** Features of components by relevance, and documents word by word. */

const TOP = DATA.top;

/**
 * The first features of a component by λ log θ + (1 − λ) log lift, as `top_features` ranks them.
 * @param {number} k @param {number} weight λ in tenths from 0 to 1 @param {number} n
 * @param {number | null} [block] of features that are asked for alone
 * @returns {{feature: number, name: string, theta: number, lift: number}[]}
 */
function topFeatures(k, weight, n, block = null) {
  const [start, feature, theta, lift] = [TOP.start, TOP.feature, TOP.theta, TOP.lift].map(numbers);
  const rows = [];
  for (let i = start[k]; i < start[k + 1]; i += 1) {
    const f = feature[i];
    if (block !== null && DATA.blocks && DATA.blocks[f] !== block) continue;
    const value = weight * Math.log(Math.max(theta[i], 1e-38)) + (1 - weight) * lift[i];
    rows.push({ feature: f, name: DATA.features[f], theta: theta[i], lift: Math.exp(lift[i]), value });
  }
  return rows.sort((a, b) => b.value - a.value).slice(0, n);
}

/** Some words that stand for a component. @param {number} k @param {number} [n] */
function inWords(k, n = 6) {
  return topFeatures(k, DATA.lambda, n).map((row) => row.name).join(", ");
}

/** Whether a component is meant by what was typed: its name, number or one of its first words.
 * @param {number} k @param {string} typed */
function isMeant(k, typed) {
  const wanted = typed.trim().toLowerCase();
  if (!wanted) return true;
  if (/^#?\d+$/.test(wanted)) return k === Number(wanted.replace("#", ""));
  if (NAMES[k].toLowerCase().includes(wanted)) return true;
  return topFeatures(k, DATA.lambda, TOP.shown).some((row) => row.name.toLowerCase().includes(wanted));
}

/** @typedef {{before: string, word: string, k: number, count?: number}} Token */

/**
 * A document as words with their components, whatever is known of it; `rest` comes after the last.
 * @param {number} number
 * @returns {{tokens: Token[], rest: string, kind: string, cut: boolean} | null}
 */
function tokensOf(number) {
  const view = DATA.views[number];
  if (!view) return null;
  /** @type {Token[]} */
  const tokens = [];
  if (view.text) {
    for (let i = 0; i + 2 < view.text.length; i += 3) tokens.push({ before: view.text[i], word: view.text[i + 1], k: view.text[i + 2] });
    return { tokens, rest: view.text[view.text.length - 1], kind: "text", cut: view.cut };
  }
  if (view.order) {
    view.order.forEach((/** @type {number} */ f, /** @type {number} */ i) => {
      tokens.push({ before: i ? " " : "", word: f < 0 ? "·" : DATA.features[f], k: view.component[i] });
    });
    return { tokens, rest: "", kind: "order", cut: view.cut };
  }
  view.words.forEach((/** @type {number} */ f, /** @type {number} */ i) => {
    tokens.push({ before: "", word: DATA.features[f], k: view.component[i], count: view.count[i] });
  });
  return { tokens, rest: "", kind: "bag", cut: view.cut };
}

/**
 * How a document begins, with the words of one component marked.
 * @param {number} number @param {number} k @param {number} [most] characters
 */
function snippet(number, k, most = 420) {
  const found = tokensOf(number);
  if (!found) return null;
  const place = h("p", { class: "snippet", dir: "auto" });
  if (found.kind === "bag") {
    const own = found.tokens.filter((t) => t.k === k).slice(0, 14);
    own.forEach((t, i) => place.append(i ? ", " : "", h("mark", {}, isolated(t.word)), t.count === 1 ? "" : ` ×${amount(t.count || 0)}`));
    if (!own.length) place.append(`No ${SAY.feature} here is mostly of this ${SAY.component}.`);
    return place;
  }
  const from = Math.max(0, beginning(found.tokens, k, most));
  if (from > 0) place.append("… ");
  let length = 0;
  for (const [i, t] of found.tokens.slice(from).entries()) {
    const before = tidy(i || from === 0 ? t.before : "");
    length += before.length + t.word.length;
    if (length > most) {
      place.append(" …");
      return place;
    }
    place.append(before, t.k === k ? h("mark", {}, t.word) : t.word);
  }
  place.append(tidy(found.rest).slice(0, Math.max(most - length, 0)));
  return place;
}

/** Runs of blanks as one: a snippet is no page. @param {string} text */
function tidy(text) {
  return text.replace(/\s+/g, " ");
}

/**
 * The word at which a snippet begins: where most of the next words are of the component.
 * @param {Token[]} tokens @param {number} k @param {number} most
 */
function beginning(tokens, k, most) {
  const span = Math.round(most / 8);
  let here = 0, best = 0, place = 0;
  tokens.forEach((t, i) => {
    here += Number(t.k === k) - (i >= span ? Number(tokens[i - span].k === k) : 0);
    if (here > best + 1) [best, place] = [here, i - span + 1];
  });
  return place;
}

/**
 * A document to read, each word in the colour and under the line of its component.
 * @param {number} number @param {Map<number, number>} place of components that have a colour
 */
function reading(number, place) {
  const found = tokensOf(number);
  if (!found) return null;
  const body = h("div", { class: found.kind === "bag" ? "body bag" : "body", dir: "auto", tabindex: 0, role: "region", "aria-label": `The ${SAY.document}` });
  for (const t of found.tokens) {
    const n = place.get(t.k);
    const word = h("span", {}, found.kind === "text" ? t.word : isolated(t.word), t.count === undefined || t.count === 1 ? "" : ` ×${amount(t.count)}`);
    if (t.k >= 0) {
      word.className = "w";
      word.title = label(t.k);
      word.style.textDecorationColor = n === undefined ? "var(--muted)" : colour(n);
      word.style.textDecorationStyle = n === undefined ? "solid" : LINES[n % LINES.length];
      if (n === undefined) word.style.textDecorationThickness = "1px";
      word.append(h("sub", {}, t.k));
    }
    body.append(t.before, word, found.kind === "bag" ? " " : "");
  }
  body.append(found.rest, found.cut ? " … (cut here)" : "");
  return body;
}
