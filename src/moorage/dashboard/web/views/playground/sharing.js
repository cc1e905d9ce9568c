/** Writes the playground's state into the address and reads it back: texts as base64url of their UTF-8. */

export function encode(text) {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (let at = 0; at < bytes.length; at += 4096) binary += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text, or null where it cannot be read. */
export function decode(encoded) {
  try {
    const binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(binary, (one) => one.charCodeAt(0)));
  } catch {
    return null;
  }
}

const KINDS = new Set(["tolerations", "affinity", "nodeSelector", "cel"]);

/** {kind, text, taints (null: the cluster's nodes), gates} ⇄ parameters of the address. */
export function toParams({ kind, text, taints, gates }) {
  const set = Object.entries(gates).map(([name, on]) => `${name}:${on ? 1 : 0}`);
  return { kind, text: encode(text), taints: taints == null ? null : `.${encode(taints)}`, gates: set.join(",") || null };
}

export function fromParams(params) {
  if (params.text == null) return null;
  const text = decode(params.text);
  if (text == null) return null;
  const gates = {};
  for (const one of (params.gates ?? "").split(",")) {
    const [name, on] = one.split(":");
    if (/^\w+$/.test(name ?? "") && (on === "0" || on === "1")) gates[name] = on === "1";
  }
  const taints = params.taints?.startsWith(".") ? decode(params.taints.slice(1)) : null;
  return { kind: KINDS.has(params.kind) ? params.kind : "tolerations", text, taints, gates };
}
