/**
 * Gathers rows of the matrix that differ by values only, and says what their plugins have in common.
 *
 *   families(matrix, rows) → [{id, rows, count, nodes, nearest, furthest, total, cells}]
 *
 * `rows` may be fewer than the matrix has. `cells` has for each plugin that refuses {reasons, details, code, ways}:
 * what it says of the nearest nodes, and in how many ways it refuses them.
 */
export function families(matrix, rows) {
  const all = rows.length === matrix.rows.length;
  const found = new Map();
  for (const row of rows) {
    if (!found.has(row.family)) found.set(row.family, []);
    found.get(row.family).push(row);
  }
  return [...found].map(([id, members]) => {
    const told = matrix.families?.[id];
    // Of a part of the rows, only what is in them is known.
    if (!told || !all) return familyOf(id, members, counted(members));
    return familyOf(id, members, told);
  });
}

function familyOf(id, rows, { count, nodes, nearest, furthest, ways, rows: total }) {
  const cells = {};
  for (const plugin of Object.keys(rows[0].cells)) {
    cells[plugin] = { ...rows[0].cells[plugin], reasons: common(rows, plugin), ways: ways[plugin] ?? 1 };
  }
  return { id, rows, count, nodes, nearest, furthest, total, cells };
}

function counted(rows) {
  const ways = {};
  for (const plugin of Object.keys(rows[0].cells)) ways[plugin] = new Set(rows.map((row) => JSON.stringify(row.cells[plugin]))).size;
  return {
    count: rows.reduce((sum, row) => sum + row.count, 0),
    nodes: rows.flatMap((row) => row.nodes),
    nearest: Math.min(...rows.map((row) => row.distance)),
    furthest: Math.max(...rows.map((row) => row.distance)),
    rows: rows.length,
    ways,
  };
}

/** The reasons of all rows: with their values where they have the same, else without; the first where they differ still. */
function common(rows, plugin) {
  const said = new Set(rows.map((row) => row.cells[plugin].reasons.join("; ")));
  if (said.size === 1) return rows[0].cells[plugin].reasons;
  const bare = [...new Set([...said].map((text) => text.replace(/\{([^:{}]*): [^{}]*\}/g, "{$1}")))];
  return bare.length === 1 ? bare : [`${bare[0]} or ${bare.length === 2 ? bare[1] : `${bare.length - 1} other reasons`}`];
}
