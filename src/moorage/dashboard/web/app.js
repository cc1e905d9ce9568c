/** Starts the page: header, navigation, theme, and the view that the address names. */
import { address } from "./lib/address.js";
import { answerable, embedded } from "./lib/api.js";
import { cluster } from "./lib/cluster.js";
import { isDark, onTheme, setTheme } from "./lib/colour.js";
import { h, replace, setText } from "./lib/dom.js";
import { ago, clockMinutes, count, moment, number } from "./lib/format.js";
import { icon } from "./lib/icons.js";
import { moments, momentWords, savedNumbers, showMoment } from "./lib/moments.js";
import { announce, clear, clearPassing, problem } from "./lib/notice.js";
import { MomentLine } from "./parts/moment-line.js";
import { podDrawer } from "./parts/pod/drawer.js";
import { Skeleton } from "./parts/skeleton.js";
import { loading } from "./parts/states.js";
import { UnreadLine } from "./parts/unread.js";

/**
 * The views, in the order of the navigation. Each module defines the element `moorage-NAME`; its stylesheet is
 * views/NAME/NAME.css. A view reads `address.params` when it is connected, and its method `addressChanged(params)`,
 * if it has one, is called when they change while it is shown. Beside any of them stands the panel of the pod that
 * the address names as `look`.
 */
const ALL_VIEWS = {
  plan: { title: "Plan", load: () => import("./views/plan/plan.js"), saved: () => answerable("plan") },
  map: { title: "Map", load: () => import("./views/map/map.js"), saved: () => true },
  pending: { title: "Why pending", load: () => import("./views/pending/pending.js"), saved: () => answerable("pending") },
  slider: { title: "What if", load: () => import("./views/slider/slider.js"), saved: () => Object.keys(embedded.answers).some((key) => key.startsWith("what-if ")) },
  capacity: { title: "Capacity", load: () => import("./views/capacity/capacity.js") },
  playground: { title: "Playground", load: () => import("./views/playground/playground.js") },
  timeline: { title: "Timeline", load: () => import("./views/timeline/timeline.js"), saved: () => answerable("story", {}) },
  gates: { title: "Gates", load: () => import("./views/gates/gates.js") },
};
/** A saved page has the views whose answers were saved in it; the plan as a whole is in saved pages only. */
const VIEWS = Object.fromEntries(Object.entries(ALL_VIEWS).filter(([name, { saved }]) => (embedded ? saved?.() : name !== "plan")));
const THEMES = ["", "light", "dark"];
const STORED = "moorage-theme";

const main = document.getElementById("main");
const parts = { skeleton: new Skeleton() };
let shown = "";
let shownParams = "";
let shownMoment;
let view = null;
let first = true;
let waiting = 0;

function start() {
  setTheme(readTheme());
  buildHeader();
  onTheme(labelTheme);
  // Views that fill the window, and what sticks below the header, need its height with all lines that it has now.
  const top = document.querySelector(".top");
  new ResizeObserver(() => document.documentElement.style.setProperty("--top", `${top.offsetHeight}px`)).observe(top);
  address.subscribe(route);
  cluster.subscribe(updateSource);
  setInterval(updateSource, 1000);
  updateSource();
  route();
  podDrawer(main);
  cluster.start();
  showWaitingPods();
}

function buildHeader() {
  const links = Object.entries(VIEWS).map(([name, { title }]) =>
    h("li", {}, h("a", { class: "nav-link", href: address.href(name), dataset: { view: name } }, icon(name), h("span", {}, title))),
  );
  parts.state = h("span", { class: "source-state", dataset: { state: "waiting" } });
  parts.name = h("span", { class: "source-name" });
  parts.words = h("span");
  parts.counts = h("span", { class: "source-counts" });
  parts.detail = h("span", { class: "source-detail" }, parts.words, parts.counts);
  parts.theme = h("button", { class: "icon-button", type: "button", onclick: nextTheme });
  parts.past = h("p", { class: "past-line", hidden: true });
  parts.moment = new MomentLine();
  parts.unread = new UnreadLine();
  replace(
    document.getElementById("header"),
    h("a", { class: "brand", href: address.href("map"), "aria-label": "Moorage, map" }, icon("logo", { size: 20 }), h("span", {}, "Moorage")),
    h("nav", { class: "nav", "aria-label": "Views" }, h("ul", {}, links)),
    h("div", { class: "source" }, parts.state, h("span", { class: "source-text" }, parts.name, parts.detail)),
    parts.theme,
    parts.past,
    parts.moment.element,
    parts.unread.element,
  );
  labelTheme();
  // The address belongs to the views: the skip link moves the focus only.
  document.querySelector(".skip-link").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
}

/** The title of the tab: the view, and how many pods wait. */
function setTitle() {
  document.title = `${waiting ? `(${number(waiting)}) ` : ""}${wordsOf(shown)} · Moorage`;
}

/** A view by its title, in a saved page with the moment that it shows. */
function wordsOf(name) {
  return [VIEWS[name]?.title, momentWords(name)].filter(Boolean).join(", ");
}

/** A saved page says its numbers beside what they are of. */
async function showWaitingPods() {
  const link = document.querySelector('.nav-link[data-view="pending"]');
  if (embedded || !link) return;
  const { showWaiting } = await import("./parts/start/badge.js");
  showWaiting(link, (pods) => {
    waiting = pods;
    setTitle();
  });
}

async function route() {
  const wanted = Object.hasOwn(VIEWS, address.view) ? address.view : startView();
  for (const link of document.querySelectorAll(".nav-link")) {
    if (embedded) link.setAttribute("href", address.href(link.dataset.view));
    if (link.dataset.view === wanted) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  const moment = showMoment(wanted, address.params.moment);
  parts.moment.show(wanted, moment);
  const { look, ...params } = address.params;
  const own = JSON.stringify(params);
  const stays = wanted === shown;
  if (stays && moment?.id === shownMoment) {
    // A pod that is looked at is no matter of the view's.
    if (own !== shownParams) view?.addressChanged?.(address.params);
    shownParams = own;
    return;
  }
  shownParams = own;
  shownMoment = moment?.id;
  shown = wanted;
  view = null;
  address.view = wanted;
  const { title, load } = VIEWS[wanted];
  const words = wordsOf(wanted);
  setTitle();
  clearPassing();
  replace(main, cluster.loaded || embedded ? loading(`Opening ${title}`) : parts.skeleton.element);
  try {
    await Promise.all([load(), stylesheet(wanted)]);
  } catch (error) {
    console.error(error);
    if (shown === wanted) {
      shown = "";
      replace(main);
      problem("view", `${title} could not be opened. Reload the page.`);
    }
    return;
  }
  await cluster.ready;
  if (shown !== wanted) return;
  view = document.createElement(`moorage-${wanted}`);
  view.classList.add("view");
  replace(main, view);
  if (!first) {
    announce(`${words} is shown`);
    if (!look && !stays) main.focus({ preventScroll: true });
    if (!stays) scrollTo(0, 0);
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
  const [state, words] = connection();
  parts.state.dataset.state = state;
  setText(parts.name, source.context || source.name || "Moorage");
  setText(parts.words, moments.length ? `${savedNumbers()} · ${words}` : words);
  setText(parts.counts, loaded && !moments.length ? ` · ${count(cluster.nodes.size, "node")} · ${count(cluster.pods.size, "pod")}` : "");
  parts.name.title = source.name;
  parts.detail.title = parts.detail.textContent;
  parts.skeleton.show(cluster);
  if (source.problem) problem("source", source.problem, { stay: true, command: source.command });
  else clear("source");
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

/** What the dot looks like, and how up to date the page is. */
function connection() {
  const { source, loaded, streaming, past, progress } = cluster;
  if (embedded) return ["saved", source.time ? `Saved ${moment(source.time)}` : "Saved page"];
  if (past != null) return ["saved", `As of ${past}`];
  if (!loaded) return ["waiting", progress ? "Reading the cluster" : "Connecting"];
  if (!streaming) return ["lost", "Connection lost"];
  if (!source.connected) return ["lost", source.kind === "files" ? "Files cannot be read" : `Cluster stopped answering ${ago(source.time)}`];
  if (source.kind === "files") return ["files", `From files, read ${ago(source.time)}`];
  return ["live", cluster.changed ? `Up to date; last change ${ago(cluster.changed)}` : `Up to date; no change since ${clockMinutes(cluster.since)}`];
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
  announce(`Theme: ${isDark() ? "dark" : "light"}`);
}

function labelTheme() {
  const other = isDark() ? "light" : "dark";
  replace(parts.theme, icon(isDark() ? "sun" : "moon", { size: 18 }));
  parts.theme.setAttribute("aria-label", `Use the ${other} theme`);
  parts.theme.title = `Use the ${other} theme`;
}

start();
