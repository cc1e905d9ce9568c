/**
 * Shortens names of nodes so that they still differ.
 *
 *   const domain = sharedDomain(names);   ".eu-west-1.compute.internal", if all of them end with it, else ""
 *   shorten("ip-10-0-3-7.eu-west-1.compute.internal", 12, domain)   "ip-10-0-3-7"
 */

/** What all names have after their first dot: it tells no two of them apart. */
export function sharedDomain(names) {
  let domain = null;
  for (const name of names) {
    const dot = name.indexOf(".");
    const rest = dot > 0 ? name.slice(dot) : "";
    if (!rest || (domain !== null && rest !== domain)) return "";
    domain = rest;
  }
  return domain ?? "";
}

/** Names differ at their end, apart from a domain that they share: what is left out is in the middle. */
export function shorten(name, letters, domain = "") {
  if (name.length <= letters) return name;
  if (domain && name.endsWith(domain)) return shorten(name.slice(0, -domain.length), letters);
  const tail = Math.max(1, Math.ceil((letters - 1) * 0.6));
  return `${name.slice(0, Math.max(0, letters - 1 - tail))}…${name.slice(-tail)}`;
}
