// The link of a spreadsheet's HYPERLINK formula.
const HYPERLINK_FORMULA = /^(?:of:)?=?HYPERLINK\(\s*"((?:[^"]|"")*)"\s*[,;)]/i;

/** Null for a formula whose link is computed, and for any other text. */
export function linkOfFormula(formula: string): string | null {
  return HYPERLINK_FORMULA.exec(formula.trimStart())?.[1]?.replaceAll('""', '"') ?? null;
}
