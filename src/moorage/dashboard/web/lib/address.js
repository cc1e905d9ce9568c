/**
 * Reads and writes the address, `#/VIEW?name=value`: whatever a view shows can be shared and gone back to.
 *
 *   address.view, address.params            → "map", {group: "zone"}
 *   address.go("pending", {pod: "default/web"})         a new entry in the browser's history
 *   address.set({group: "pool", node: null})            same view: merges, null removes; replaces the entry
 *   address.href("map", {node: "n1"})       → "#/map?node=n1" for links
 *   const stop = address.subscribe(() => …)
 */

const readers = new Set();

export const address = {
  view: "",
  params: {},

  href(view, params = {}) {
    const query = new URLSearchParams();
    // Which moment of a saved page is looked at holds for all its views.
    for (const [name, value] of Object.entries({ moment: address.params.moment, ...params })) {
      if (value != null && value !== "" && value !== false) query.set(name, value === true ? "1" : String(value));
    }
    const text = query.toString();
    return `#/${view}${text ? `?${text}` : ""}`;
  },

  go(view, params = {}) {
    const href = address.href(view, params);
    if (location.hash !== href) location.hash = href;
  },

  set(params, { replace = true } = {}) {
    const merged = { ...address.params, ...params };
    if (!replace) return address.go(address.view, merged);
    const href = address.href(address.view, merged);
    if (location.hash === href) return undefined;
    history.replaceState(null, "", href);
    return read();
  },

  subscribe(reader) {
    readers.add(reader);
    return () => readers.delete(reader);
  },
};

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  // "#main" is where the skip link goes: not an address of a view.
  if (location.hash && !location.hash.startsWith("#/")) return;
  address.view = decoded(path.split("/", 1)[0]);
  address.params = Object.fromEntries(new URLSearchParams(query));
  for (const reader of [...readers]) reader();
}

/** The text as it is where it is not what browsers write. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

addEventListener("hashchange", read);
read();
