// The links of a spreadsheet's cells.
import { beginsLikeUrl, isAttempt, urlsInCell } from './cell-urls.ts';
import { urlLikeness } from './classify-url.ts';

/** Also in a formula around it, such as IF. */
const HYPERLINK_FORMULA = /(?:^|[^\w."])HYPERLINK\(\s*"((?:[^"]|"")*)"\s*[,;)]/i;
/** The sign that a text was cut to fit its cell. */
const CUT = /(?:\u2026|\.{3})$/;

/** A link is one URL with all its spaces, where words behind the URL of a text are a note. */
const wholeLink = (link: string): string => (URL.canParse(link) ? link.trim().replaceAll(' ', '%20') : link.trim());

/** Null for a formula whose link is computed, and for any other text. */
export function linkOfFormula(formula: string): string | null {
  return HYPERLINK_FORMULA.exec(formula)?.[1]?.replaceAll('""', '"') ?? null;
}

/**
 * The text of a cell with the links that lie on it, a line each. A link takes the place of a text without a URL, or is the link itself, cut or with
 * spaces; a text that is one URL of its own stays as it is; beside several URLs the links stand too.
 */
export function textWithLinks(shown: string, all_links: readonly string[], max_url_chars: number): string {
  // A link that cannot be checked is told of.
  const links = all_links.filter((link) => isAttempt(link) || urlLikeness(link, max_url_chars) > 0).map(wholeLink);
  if (links.length === 0) return shown;
  const isShownFor = (text: string, link: string) => {
    if (CUT.test(text)) return link.startsWith(text.replace(CUT, '').trimEnd());
    return text === link || (URL.canParse(link) && URL.parse(text)?.href === URL.parse(link)?.href);
  };
  const text = shown.trim();
  const same = links.find((link) => isShownFor(text, link));
  if (same !== undefined && links.length === 1) return /\s|\u2026|\.{3}$/.test(text) ? same : shown;
  if (urlLikeness(text, max_url_chars) > 0) return shown;
  const texts = urlsInCell(shown).texts.filter((one) => beginsLikeUrl(one));
  const others = texts.filter((one) => !links.some((link) => isShownFor(one, link)));
  return others.length === 0 ? links.join('\n') : [...others, ...links].join('\n');
}
