/** Tabs, the address of what is looked at, light and dark, and printing. */

const tabs = /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll('[role="tab"]')));
const sections = /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll(".panel")));

/** @param {HTMLElement} tab */
function keyOf(tab) {
  return tab.id.replace("tab-", "");
}

/** @param {string} key @param {boolean} [focus] */
function showPanel(key, focus = false) {
  hideTip();
  for (const tab of tabs) {
    const here = keyOf(tab) === key;
    tab.setAttribute("aria-selected", String(here));
    tab.tabIndex = here ? 0 : -1;
    if (here) {
      tab.parentElement?.scrollTo({ left: tab.offsetLeft - 40 });
      if (focus) tab.focus();
    }
  }
  for (const section of sections) section.hidden = section.id !== `panel-${key}`;
  refresh(key);
}

/** The address says what is looked at, so that it can be sent and gone back to.
 * @param {string} key @param {string} [rest] */
function setPlace(key, rest) {
  try {
    window.history.replaceState(null, "", `#${key}${rest ? `/${rest}` : ""}`);
  } catch {
    // Some viewers let nobody change an address.
  }
}

/** @param {string} key @param {string} [rest] */
function go(key, rest) {
  try {
    window.history.pushState(null, "", `#${key}${rest ? `/${rest}` : ""}`);
  } catch {
    // As above.
  }
  showPanel(key);
  window.scrollTo({ top: 0 });
}

function follow() {
  const [key, rest] = window.location.hash.slice(1).split("/");
  const known = tabs.some((tab) => keyOf(tab) === key);
  const number = Number(rest);
  if (rest && Number.isInteger(number) && number >= 0) {
    if (key === "components" && number < K) current = number;
    if (key === "documents" && rowOf.has(number)) openNumber = number;
    const found = panels.get(key);
    if (found) found.stale = true;
  }
  showPanel(known ? key : "overview");
}

for (const tab of tabs) {
  tab.addEventListener("click", () => { showPanel(keyOf(tab)); setPlace(keyOf(tab)); });
  tab.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(tab);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    const other = tabs[(next + tabs.length) % tabs.length];
    showPanel(keyOf(other), true);
    setPlace(keyOf(other));
    event.preventDefault();
  });
}

/* The roles are the script's: without it all panels stand below each other. */
for (const section of sections) {
  section.setAttribute("role", "tabpanel");
  section.setAttribute("aria-labelledby", section.id.replace("panel-", "tab-"));
  section.tabIndex = 0;
}
/** @type {HTMLElement} */ (document.getElementById("tabs")).hidden = false;
/** @type {HTMLDetailsElement} */ (document.getElementById("components-table")).open = false;
for (const cell of document.querySelectorAll("td.own-name")) cell.replaceChildren(isolated(NAMES[Number(/** @type {HTMLElement} */ (cell).dataset.k)]));

const THEMES = ["system", "light", "dark"];
const themeButton = /** @type {HTMLButtonElement} */ (document.getElementById("theme"));

/** @param {string} theme */
function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  themeButton.textContent = `Theme: ${theme}`;
  themeButton.dataset.theme = theme;
}

themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(themeButton.dataset.theme || "system") + 1) % THEMES.length];
  setTheme(next);
  remember("dcomp theme", next === "system" ? null : next);
  const bars = panels.get("bars");
  if (bars) bars.stale = true;
  const open = tabs.find((tab) => tab.getAttribute("aria-selected") === "true");
  if (open) refresh(keyOf(open));
});
setTheme(THEMES.find((theme) => theme === recall("dcomp theme")) || "system");

/* On paper all panels stand below each other, so all are drawn. */
window.addEventListener("beforeprint", () => {
  for (const key of panels.keys()) refresh(key);
  /** @type {HTMLDetailsElement} */ (document.getElementById("components-table")).open = true;
});
window.addEventListener("hashchange", follow);
window.addEventListener("popstate", follow);
follow();
