/** Starts the page: header, navigation, theme, and the view that the address names. */
import { address } from "./lib/address.js";
import { answerable, embedded } from "./lib/api.js";
import { cluster } from "./lib/cluster.js";
import { isDark, setTheme } from "./lib/colour.js";
import { h, replace, setText } from "./lib/dom.js";
import { age, count, moment } from "./lib/format.js";
import { icon } from "./lib/icons.js";
import { announce, problem } from "./lib/notice.js";
import { loading } from "./parts/states.js";
import { UnreadLine } from "./parts/unread.js";

/**
 * The views, in the order of the navigation. Each module defines the element `moorage-NAME`; its stylesheet is
 * views/NAME/NAME.css. A view reads `address.params` when it is connected, and its method `addressChanged(params)`,
 * if it has one, is called when they change while it is shown.
 */
const ALL_VIEWS = {
  plan: { title: "Plan", load: () => import("./views/plan/plan.js"), saved: () => answerable("plan") },
  map: { title: "Map", load: () => import("./views/map/map.js"), saved: () => true },
  pending: { title: "Why pending", load: () => import("./views/pending/pending.js"), saved: () => answerable("pending") },
  slider: { title: "What if", load: () => import("./views/slider/slider.js"), saved: () => Object.keys(embedded.answers).some((key) => key.startsWith("what-if ")) },
  playground: { title: "Playground", load: () => import("./views/playground/playground.js") },
  timeline: { title: "Timeline", load: () => import("./views/timeline/timeline.js"), saved: () => answerable("story", {}) },
  gates: { title: "Gates", load: () => import("./views/gates/gates.js") },
};
/** A saved page has the views whose answers were saved in it; the plan as a whole is in saved pages only. */
const VIEWS = Object.fromEntries(Object.entries(ALL_VIEWS).filter(([name, { saved }]) => (embedded ? saved?.() : name !== "plan")));
const THEMES = ["", "light", "dark"];
let clearSource = null;
const STORED = "moorage-theme";

const main = document.getElementById("main");
const parts = {};
let shown = "";
let view = null;
let first = true;

function start() {
  setTheme(readTheme());
  buildHeader();
  address.subscribe(route);
  cluster.subscribe(updateSource);
  setInterval(updateSource, 1000);
  updateSource();
  route();
  cluster.start();
}

function buildHeader() {
  const links = Object.entries(VIEWS).map(([name, { title }]) =>
    h("li", {}, h("a", { class: "nav-link", href: address.href(name), dataset: { view: name } }, icon(name), h("span", {}, title))),
  );
  parts.state = h("span", { class: "source-state", dataset: { state: "waiting" } });
  parts.name = h("span", { class: "source-name" });
  parts.detail = h("span", { class: "source-detail" });
  parts.theme = h("button", { class: "icon-button", type: "button", onclick: nextTheme });
  parts.past = h("p", { class: "past-line", hidden: true });
  parts.unread = new UnreadLine();
  replace(
    document.getElementById("header"),
    h("a", { class: "brand", href: address.href("map"), "aria-label": "Moorage, map" }, icon("logo", { size: 20 }), h("span", {}, "Moorage")),
    h("nav", { class: "nav", "aria-label": "Views" }, h("ul", {}, links)),
    h("div", { class: "source" }, parts.state, h("span", { class: "source-text" }, parts.name, parts.detail)),
    parts.theme,
    parts.past,
    parts.unread.element,
  );
  labelTheme();
  // The address belongs to the views: the skip link moves the focus only.
  document.querySelector(".skip-link").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
}

async function route() {
  const wanted = Object.hasOwn(VIEWS, address.view) ? address.view : startView();
  for (const link of document.querySelectorAll(".nav-link")) {
    if (link.dataset.view === wanted) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  if (wanted === shown) {
    view?.addressChanged?.(address.params);
    return;
  }
  shown = wanted;
  view = null;
  address.view = wanted;
  const { title, load } = VIEWS[wanted];
  document.title = `${title} · Moorage`;
  replace(main, loading(`Opening ${title}`));
  try {
    await Promise.all([load(), stylesheet(wanted)]);
  } catch (error) {
    console.error(error);
    if (shown === wanted) {
      shown = "";
      replace(main);
      problem("view", `${title} could not be opened: reload the page.`);
    }
    return;
  }
  if (shown !== wanted) return;
  view = document.createElement(`moorage-${wanted}`);
  view.classList.add("view");
  replace(main, view);
  if (!first) {
    announce(`${title} is shown`);
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  first = false;
}

/** The view of an address that names none: a saved page says which one, as `#/pending?pod=default/web-1`. */
function startView() {
  const [name, query = ""] = (embedded?.view ?? "").replace(/^#\//, "").split(/\?(.*)/s);
  if (!Object.hasOwn(VIEWS, name)) return "map";
  if (!address.view) address.params = Object.fromEntries(new URLSearchParams(query));
  return name;
}

function stylesheet(name) {
  const href = `views/${name}/${name}.css`;
  // An exported page has all styles in it.
  if (embedded || document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  return new Promise((resolve) => {
    document.head.append(h("link", { rel: "stylesheet", href, onload: resolve, onerror: resolve }));
  });
}

function updateSource() {
  const { source, loaded, past } = cluster;
  const [state, word] = connection();
  parts.state.dataset.state = state;
  setText(parts.name, source.context || source.name || "Moorage");
  setText(parts.detail, loaded ? `${word} · ${count(cluster.nodes.size, "node")} · ${count(cluster.pods.size, "pod")}` : word);
  parts.name.title = source.name;
  if (source.problem) {
    clearSource = problem("source", source.problem, { stay: true });
  } else if (clearSource) {
    clearSource();
    clearSource = null;
  }
  parts.unread.show(source);
  parts.past.hidden = past == null;
  if (past != null && parts.past.dataset.past !== past) {
    parts.past.dataset.past = past;
    replace(
      parts.past,
      `You are looking at ${past}. `,
      h("button", { class: "button small", type: "button", onclick: () => cluster.resume() }, "Back to now"),
    );
  }
}

function connection() {
  const { source, loaded, streaming, past } = cluster;
  if (embedded) return ["saved", source.time ? `saved ${moment(source.time)}` : "saved page"];
  if (past != null) return ["saved", `as of ${past}`];
  if (!loaded) return ["waiting", "connecting"];
  if (!streaming) return ["lost", "connection lost"];
  if (source.kind === "files") return ["files", "manifests"];
  if (!source.connected) return ["lost", `cluster does not answer${source.time ? ` for ${age(source.time)}` : ""}`];
  return ["live", "live"];
}

function readTheme() {
  try {
    const theme = localStorage.getItem(STORED) ?? "";
    return THEMES.includes(theme) ? theme : "";
  } catch {
    // Exported pages opened as files may have no storage.
    return "";
  }
}

function nextTheme() {
  const next = isDark() ? "light" : "dark";
  // Back at the system's choice, follow the system again.
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  setTheme(next === system ? "" : next);
  try {
    localStorage.setItem(STORED, next === system ? "" : next);
  } catch {
    // The choice then lasts as long as the page.
  }
  labelTheme();
  announce(`Theme: ${isDark() ? "dark" : "light"}`);
}

function labelTheme() {
  const other = isDark() ? "light" : "dark";
  replace(parts.theme, icon(isDark() ? "sun" : "moon", { size: 18 }));
  parts.theme.setAttribute("aria-label", `Use the ${other} theme`);
  parts.theme.title = `Use the ${other} theme`;
}

start();
