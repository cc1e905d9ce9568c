/**
 * Colours YAML and CEL: highlight(text, "yaml" or "cel") → lines, each a list of [text, class]; "" is plain.
 *
 * The value of `expression:` (of policies also `messageExpression:` and `valueExpression:`) is coloured as CEL, also in the lines of a block below it. It reads by line, since what
 * is being typed is rarely complete.
 */

const CEL =
  /(?<comment>\/\/.*)|(?<string>[rRbB]{0,2}(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?))|(?<number>\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)u?\b)|(?<keyword>\b(?:true|false|null|in)\b)|(?<call>[A-Za-z_]\w*(?=\s*\())|(?<name>[A-Za-z_]\w*)|(?<operator>&&|\|\||[=!<>]=|[<>!?:+\-*/%])/g;
/** A key begins where a word does, and is not longer than people write: each letter is looked at a bounded number of times. */
const YAML =
  /(?<comment>(?:^|(?<=\s))#.*)|(?<string>"(?:\\.|[^"\\])*"?|'(?:''|[^'])*'?)|(?<key>(?<![^\s{},[\]])[^\s"'{}[\],#:&*!|>-][^{}[\],:#]{0,200}?(?=\s{0,20}:(?:\s|$)))|(?<number>(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.-]))|(?<keyword>(?<![\w.-])(?:true|false|null|yes|no|on|off)(?![\w.-]))|(?<operator>[{}[\],:]|(?:^|(?<=\s))-(?=\s|$)|[|>][0-9+-]*$)/g;
const HEADER = /^(\s*(?:-\s+)*)(["']?)(?:expression|messageExpression|valueExpression)\2\s*:\s*/;
const BLOCK = /^[|>][0-9+-]*\s*(?:#.*)?$/;

export function highlight(text, language) {
  const lines = text.split("\n");
  if (language === "cel") return lines.map((line) => split(line, CEL));
  let block = -1;
  return lines.map((line) => {
    const indent = line.search(/\S/);
    if (block >= 0 && (indent < 0 || indent > block)) return split(line, CEL);
    block = -1;
    const header = HEADER.exec(line);
    if (!header) return split(line, YAML);
    const value = line.slice(header[0].length);
    const before = split(header[0], YAML);
    if (BLOCK.test(value)) {
      block = header[1].length;
      return [...before, [value, "operator"]];
    }
    const quote = value[0] === '"' || value[0] === "'" ? value[0] : "";
    if (!quote) return [...before, ...split(value, CEL)];
    const end = value.length > 1 && value.trimEnd().endsWith(quote) ? value.trimEnd().length - 1 : value.length;
    return [...before, [quote, "operator"], ...split(value.slice(1, end), CEL), [value.slice(end), "operator"]];
  });
}

function split(line, pattern) {
  const found = [];
  let at = 0;
  for (const match of line.matchAll(pattern)) {
    if (!match[0]) continue;
    if (match.index > at) found.push([line.slice(at, match.index), ""]);
    found.push([match[0], kind(match.groups)]);
    at = match.index + match[0].length;
  }
  if (at < line.length) found.push([line.slice(at), ""]);
  return found;
}

function kind(groups) {
  for (const [name, text] of Object.entries(groups)) if (text !== undefined) return name === "name" ? "" : name;
  return "";
}

/** Cuts the pieces of a line where ranges begin and end: [{text, kind, marks: [range, …]}]. */
export function marked(pieces, ranges) {
  const made = [];
  let at = 0;
  for (const [text, kindOf] of pieces) {
    const end = at + text.length;
    const cuts = new Set([at, end]);
    for (const range of ranges) for (const edge of [range.start, range.end]) if (edge > at && edge < end) cuts.add(edge);
    const edges = [...cuts].sort((one, other) => one - other);
    for (let index = 0; index + 1 < edges.length; index += 1) {
      const [from, to] = [edges[index], edges[index + 1]];
      const marks = ranges.filter((range) => range.start < to && range.end > from);
      made.push({ text: text.slice(from - at, to - at), kind: kindOf, marks });
    }
    at = end;
  }
  // A mark behind the end of the line still has to be seen.
  const behind = ranges.filter((range) => range.end > at && range.start >= at);
  if (behind.length) made.push({ text: " ", kind: "", marks: behind });
  return made;
}
