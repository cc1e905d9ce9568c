/** Converts between the server's columns, which count characters from 1, and offsets of a browser's text. */

export function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** The index in a line of a column: characters beyond 16 bits take two places in a browser's text. */
export function indexOfColumn(line, column) {
  let index = 0;
  for (let rest = column - 1; rest > 0 && index < line.length; rest -= 1) {
    index += line.codePointAt(index) > 0xffff ? 2 : 1;
  }
  return index;
}

export function columnOfIndex(line, index) {
  return [...line.slice(0, index)].length + 1;
}

/** Offset → {line, column}, both from 1. */
export function placeOf(text, offset) {
  const before = text.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: columnOfIndex(before.slice(start), before.length - start) };
}

/** {line, column} → offset. */
export function offsetOf(text, line, column) {
  const starts = lineStarts(text);
  const at = Math.min(Math.max(line, 1), starts.length) - 1;
  const end = at + 1 < starts.length ? starts[at + 1] - 1 : text.length;
  return starts[at] + indexOfColumn(text.slice(starts[at], end), column);
}
