// The links of a spreadsheet's cells.
const HYPERLINK_FORMULA = /^(?:of:)?=?HYPERLINK\(\s*"((?:[^"]|"")*)"\s*[,;)]/i;

/** A link is one URL with all its spaces, where words behind the URL of a text are a note. */
export const wholeLink = (link: string): string => link.trim().replaceAll(' ', '%20');

/** Null for a formula whose link is computed, and for any other text. */
export function linkOfFormula(formula: string): string | null {
  return HYPERLINK_FORMULA.exec(formula.trimStart())?.[1]?.replaceAll('""', '"') ?? null;
}
