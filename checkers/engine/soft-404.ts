// Decides whether a 2xx page is a soft 404. The page's own signs give points. Only when these leave the verdict open, a probe
// adds the folder's answer to a name that cannot exist.
import {
  asksForPassword,
  hasNotFoundMark,
  isHidden,
  isNoindex,
  isShort,
  isWork,
  type PageSigns,
  prose,
  type Sketch,
  similarity,
} from './html.ts';
import { notFoundSaying, type Saying } from './phrases.ts';
import { isChallengePage } from './protection.ts';

/** A page with this many points is a soft 404. */
export const SOFT_POINTS = 70;

// The points were tuned on one half of test/corpus/soft404.
const TITLE_POINTS = { gone: 60, bare: 50, mentions: 25 } as const;
const H1_POINTS = { gone: 70, bare: 50, mentions: 20 } as const;
const H2_POINTS = { gone: 35, bare: 25, mentions: 10 } as const;
/** Points of a page that shows one sentence and nothing else. */
const SENTENCE_POINTS = { gone: 50, bare: 50, mentions: 0 } as const;
const POINTS = {
  /** The site redirected one of its pages to its home page. */
  sent_home: 40,
  /** The redirects ended at a path such as /404 or /not-found. */
  error_path: 50,
  /** The page bears the mark of its platform's not-found template. */
  mark: 60,
  /** Other URLs of the host show the same page. */
  shared: 40,
  apology: 10,
  noindex: 10,
  work: -80,
} as const;

/** Points by the characters of prose, for a page that states its absence and for one with bare words, which may be a name. */
const WORDS: readonly { up_to: number; stated: number; bare: number }[] = [
  { up_to: 150, stated: 20, bare: 20 },
  { up_to: 400, stated: 5, bare: 0 },
  { up_to: 1500, stated: 0, bare: -40 },
];
const MANY_WORDS = { stated: -20, bare: -60 };
const ENOUGH_WORDS = 1501;
const FEW_WORDS = 150;
/** Most characters of a page that is read for its one sentence. */
const SMALL_PAGE = 8 * 1024;

/** Points that the answer to a random sibling adds. */
const PROBE_POINTS = {
  /** The sibling shows the same page. */
  equal: 40,
  /** The site answers the sibling with 404 or 410, and did not do so here. */
  honest: -20,
  /** The sibling shows another 2xx page. */
  different: -20,
  /** The probe got no answer that proves anything. */
  unknown: 0,
} as const;
export type ProbeVerdict = keyof typeof PROBE_POINTS;

/** Two pages with at least this share of common word pairs count as the same page. */
const NEAR_EQUAL = 0.9;

export interface Suspicion {
  points: number;
  /** The shared fingerprint is the only evidence. */
  only_shared: boolean;
}

const NONE: Suspicion = { points: 0, only_shared: false };

/**
 * The evidence against a page. `requested` is the first URL and `final` that of the page: the same object without redirects.
 * `shared`: other URLs of the host show the same page, while it shows different pages too.
 */
export function suspicionOf(html: string, signs: PageSigns, requested: URL, final: URL, shared: boolean): Suspicion {
  if (isRoot(requested)) return NONE;
  const title = notFoundSaying(signs.title);
  let points = title === null ? 0 : TITLE_POINTS[title];
  let strongest = title;

  let heading_points = 0;
  for (const { level, text, at } of signs.headings) {
    if (title === null && signs.title.includes(text)) continue;
    const saying = notFoundSaying(text);
    if (saying === null || isHidden(html, at)) continue;
    heading_points = Math.max(heading_points, (level === 1 ? H1_POINTS : H2_POINTS)[saying]);
    strongest = stronger(strongest, saying);
  }
  points += heading_points;

  if (requested !== final) {
    if (isHome(final) && !isHome(requested) && sameSite(requested, final)) points += POINTS.sent_home;
    else if (ERROR_PATH.test(final.pathname) && !ERROR_PATH.test(requested.pathname)) points += POINTS.error_path;
  }
  if (hasNotFoundMark(html)) points += POINTS.mark;

  if (points === 0 && html.length < SMALL_PAGE) {
    const saying = isShort(html, FEW_WORDS) ? notFoundSaying(prose(html, FEW_WORDS)) : null;
    if (saying !== null) points += SENTENCE_POINTS[saying];
    strongest = saying;
  }
  if (points === 0 && !shared) return NONE;
  const words = prose(html, ENOUGH_WORDS);
  // All pages of a single-page application share an empty shell, and a login wall hides any page: neither is evidence.
  const only_shared = points === 0;
  if (only_shared && (!shared || words.length < FEW_WORDS || asksForPassword(html))) return NONE;
  if (isChallengePage(html)) return NONE;
  if (shared) points += POINTS.shared;

  if (strongest !== null) {
    const amount = WORDS.find(({ up_to }) => words.length <= up_to) ?? MANY_WORDS;
    points += strongest === 'gone' ? amount.stated : amount.bare;
    if (APOLOGY.test(signs.headings[0]?.text ?? signs.title)) points += POINTS.apology;
  }
  if (isNoindex(html)) points += POINTS.noindex;
  if (isWork(html)) points += POINTS.work;
  return { points, only_shared };
}

function stronger(a: Saying, b: Saying): Saying {
  if (a === 'gone' || b === 'gone') return 'gone';
  return a === 'bare' || b === 'bare' ? 'bare' : (a ?? b);
}

const APOLOGY =
  /^[^\p{L}\d]*(?:404|o+ps+|whoops|uh[- ]oh|oh no|sorry|we(?:'|’)?re sorry|hoppla|ups|huch|oups|zut|désolé|vaya|lo sentimos|ops|desculpe|ci dispiace|oeps|jejda|hoppsan|hups|ой|упс|извините|к сожалению|抱歉|很抱歉|申し訳|죄송|عذر|عفو)/iu;

/** Whether the verdict depends on the answer of a probe. */
export function needsProbe(points: number): boolean {
  return points + PROBE_POINTS.equal >= SOFT_POINTS && points + PROBE_POINTS.honest < SOFT_POINTS;
}

export function isSoft(points: number, probe: ProbeVerdict): boolean {
  return points + PROBE_POINTS[probe] >= SOFT_POINTS;
}

/** The answer to a probe: its last status, the path of its last URL, and a sketch of the page if it was 2xx HTML. */
export interface ProbeAnswer {
  status: number | null;
  final_path: string;
  sketch: Sketch | null;
}

export function compareToProbe(page: Sketch, requested: URL, final: URL, probe: ProbeAnswer): ProbeVerdict {
  const { status } = probe;
  if (status === 404 || status === 410) return 'honest';
  if (status === null || status < 200 || status > 299 || probe.sketch === null) return 'unknown';
  if (similarity(page, probe.sketch) >= NEAR_EQUAL) return 'equal';
  const redirected = final.pathname !== requested.pathname;
  return redirected && probe.final_path === final.pathname ? 'equal' : 'different';
}

/** The folder of a URL, which one probe covers: the URL up to the last name of its path, or up to the telling query value. */
export function folderOf(url: URL): string {
  const name = tellingParameter(url);
  if (name !== null) return `${url.origin}${url.pathname}?${name}=`;
  return url.origin + url.pathname.slice(0, lastNameAt(url.pathname));
}

/** A sibling of the URL that cannot exist, of the same shape, so that the site routes both alike. `random` in [0, 1). */
export function siblingOf(url: URL, random: number): URL {
  const sibling = new URL(url);
  sibling.hash = '';
  const name = tellingParameter(url);
  if (name !== null) {
    sibling.searchParams.set(name, nameLike(url.searchParams.get(name)!, random));
    return sibling;
  }
  const { pathname } = url;
  const at = lastNameAt(pathname);
  const [, stem, rest] = /^(.*?)((?:\.[a-z]\w{0,4})?\/?)$/i.exec(pathname.slice(at))!;
  sibling.pathname = pathname.slice(0, at) + nameLike(stem!, random) + rest;
  sibling.search = '';
  return sibling;
}

function lastNameAt(pathname: string): number {
  return pathname.lastIndexOf('/', pathname.length - 2) + 1;
}

/** Names of consonants are no words, so that a sketch, which ignores the words of its URL, ignores no word of the page. */
const CONSONANTS = 'bcdfghjklmnpqrstvwxz';
const NAME_LETTERS = 10;

function nameLike(name: string, random: number): string {
  if (/^\d+$/.test(name)) return `9${String(Math.floor(random * 1e9)).padStart(9, '0')}`;
  let rest = Math.floor(random * CONSONANTS.length ** NAME_LETTERS);
  let letters = '';
  while (letters.length < NAME_LETTERS) {
    letters += CONSONANTS[rest % CONSONANTS.length];
    rest = Math.floor(rest / CONSONANTS.length);
  }
  return `${letters}-${letters.slice(0, 4)}`;
}

/** Parameters that say how a page is shown or where its reader comes from, and not which page. */
const OTHER_PARAMETERS =
  /^(?:utm_\w+|gclid|fbclid|msclkid|ref|source|lang|language|locale|page|paged|start|sort|order|view|mode|format|print|sid|itemid|v|ver)$/i;

/** The parameter that selects the page: the last one with a number in its value, else the last one. */
function tellingParameter(url: URL): string | null {
  if (url.search === '') return null;
  let telling: string | null = null;
  let numbered = false;
  for (const [name, value] of url.searchParams) {
    if (OTHER_PARAMETERS.test(name)) continue;
    const has_number = /\d/.test(value);
    if (numbered && !has_number) continue;
    telling = name;
    numbered = has_number;
  }
  return telling;
}

const ERROR_PATH = /(?:^|[/_.-])(?:404|not-?found|page-?not-?found|notfound|error-?404|error)(?:[/_.-]|$)/i;
const HOME_PATH = /^\/(?:(?:index|default|home)(?:\.\w{1,5})?)?$|^\/[a-z]{2}(?:[-_][a-z]{2})?\/?$/i;

/** The root is never a soft 404: no missing page could have been replaced by it. */
export function isRoot(url: URL): boolean {
  return url.pathname === '/' && url.search === '';
}

/** Whether a URL is a site's root, index page or root of a language, without a query. */
function isHome(url: URL): boolean {
  return url.search === '' && HOME_PATH.test(url.pathname);
}

function sameSite(a: URL, b: URL): boolean {
  const [x, y] = [a.hostname.replace(/^www\./, ''), b.hostname.replace(/^www\./, '')];
  return x === y || x.endsWith(`.${y}`) || y.endsWith(`.${x}`);
}
