// Whether a 2xx page is a "not found" in disguise: points for what the page itself gives, then, only when these could
// turn out either way, the answer that the same folder gives to a name that cannot be there.
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

/** So many points make a page soft. */
export const SOFT_POINTS = 70;

// Tuned on the one half of test/corpus/soft404.
const TITLE_POINTS = { gone: 60, bare: 50, mentions: 25 } as const;
const H1_POINTS = { gone: 70, bare: 50, mentions: 20 } as const;
const H2_POINTS = { gone: 35, bare: 25, mentions: 10 } as const;
/** Of a page that shows one sentence and nothing else. */
const SENTENCE_POINTS = { gone: 50, bare: 50, mentions: 0 } as const;
const POINTS = {
  /** Sent from a page within the site to its home. */
  sent_home: 40,
  /** Ended at a path such as /404 or /not-found. */
  error_path: 50,
  /** The mark of its platform's template for what is not there. */
  mark: 60,
  /** Other URLs of the host gave the same page. */
  shared: 40,
  apology: 10,
  noindex: 10,
  work: -80,
} as const;

/** Up to so many characters of the page's own words, for a statement and for bare words, which may be a name. */
const WORDS: readonly { up_to: number; stated: number; bare: number }[] = [
  { up_to: 150, stated: 20, bare: 20 },
  { up_to: 400, stated: 5, bare: 0 },
  { up_to: 1500, stated: 0, bare: -40 },
];
const MANY_WORDS = { stated: -20, bare: -60 };
const ENOUGH_WORDS = 1501;
const FEW_WORDS = 150;
/** Only so small a page is read for its one sentence. */
const SMALL_PAGE = 8 * 1024;

/** What the answer to a random sibling adds. */
const PROBE_POINTS = {
  /** The same page, whatever one asks for. */
  equal: 40,
  /** The site can say 404, and did not here. */
  honest: -20,
  /** A 2xx page, but another one. */
  different: -20,
  /** No answer, or one that tells nothing. */
  unknown: 0,
} as const;
export type ProbeVerdict = keyof typeof PROBE_POINTS;

/** Above this share of common word pairs, two pages are one page about two names. */
const NEAR_EQUAL = 0.9;

export interface Suspicion {
  points: number;
  /** Nothing but the fingerprint speaks against it. */
  only_shared: boolean;
}

const NONE: Suspicion = { points: 0, only_shared: false };

/**
 * What speaks against a page. `requested` and `final` are the first URL and the one that gave the page: one object when
 * nothing redirected. `shared`: its fingerprint is that of other URLs of a host that shows other pages too.
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
  // The shell of an application is empty and one for all its pages: emptiness is no evidence. Nor is a wall.
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

/** Whether a probe could make it soft, or not soft. */
export function needsProbe(points: number): boolean {
  return points + PROBE_POINTS.equal >= SOFT_POINTS && points + PROBE_POINTS.honest < SOFT_POINTS;
}

export function isSoft(points: number, probe: ProbeVerdict): boolean {
  return points + PROBE_POINTS[probe] >= SOFT_POINTS;
}

/** What a probe found: its last status, the URL it ended at, and a sketch of the page when it was 2xx HTML. */
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

/**
 * The folder of a URL, for which one probe answers: all before the last name of its path; of a script that is told by its
 * query what to show, all before that value.
 */
export function folderOf(url: URL): string {
  const name = tellingParameter(url);
  if (name !== null) return `${url.origin}${url.pathname}?${name}=`;
  return url.origin + url.pathname.slice(0, lastNameAt(url.pathname));
}

/** A sibling of the URL that cannot be there, of the same shape: what routes the one routes the other. `random` in [0, 1). */
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

/** What a sketch leaves out of one page because it stands in its URL must not be missing there: no word is made of these. */
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

/** Parameters that say how to show a thing, or where its reader comes from, and not which. */
const OTHER_PARAMETERS =
  /^(?:utm_\w+|gclid|fbclid|msclkid|ref|source|lang|language|locale|page|paged|start|sort|order|view|mode|format|print|sid|itemid|v|ver)$/i;

/** The parameter that says what to show: the last with a number in it, else the last. */
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

/** The root is never soft: there is nothing above it that it could stand in for. */
export function isRoot(url: URL): boolean {
  return url.pathname === '/' && url.search === '';
}

/** A site's root, its index page or its root for a language; a query asks for something else. */
function isHome(url: URL): boolean {
  return url.search === '' && HOME_PATH.test(url.pathname);
}

function sameSite(a: URL, b: URL): boolean {
  const [x, y] = [a.hostname.replace(/^www\./, ''), b.hostname.replace(/^www\./, '')];
  return x === y || x.endsWith(`.${y}`) || y.endsWith(`.${x}`);
}
