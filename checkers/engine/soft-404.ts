// Decides whether a 2xx page is a soft 404. The page's own signs give points. Only when these leave the verdict open, a probe
// adds the folder's answer to a name that cannot exist.
import { absenceOfSite } from './absent-sites.ts';
import {
  hasNotFoundMark,
  isHidden,
  isMarkedDiscussion,
  isNoindex,
  isShort,
  isWork,
  type PageSigns,
  prose,
  type Sketch,
  similarity,
} from './html.ts';
import { notFoundSaying, readSayings, type Saying } from './phrases.ts';
import { isChallengePage } from './protection.ts';

/** A page with this many points is a soft 404. */
const SOFT_POINTS = 70;

// The points were tuned on one half of test/corpus/soft404 and of test/corpus/not-found.
const TITLE_POINTS = { gone: 60, bare: 50, mentions: 25 } as const;
const H1_POINTS = { gone: 70, bare: 50, mentions: 20 } as const;
const H2_POINTS = { gone: 40, bare: 35, mentions: 10 } as const;
/** Points of a heading that repeats the title, and so adds little. */
const REPEATED_POINTS = { gone: 30, bare: 40, mentions: 10 } as const;
/** Points of the first sentences of a page with few words, whose title or heading says so too. */
const LEAD_POINTS = { gone: 45, bare: 30, mentions: 0 } as const;
/** Points of a page that shows one sentence and nothing else. */
const SENTENCE_POINTS = { gone: 50, bare: 50, mentions: 0 } as const;
/** Points of a page with few words and no title that says so, when nothing stands beside or before its heading or sentence. */
const ALONE_POINTS = 20;
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
} as const;
/** Points that a page loses for declaring itself an article, a discussion or a work. */
const WORK_POINTS = 80;
/** Most points of a page with many words, and of a discussion: only a sibling with the same page proves it soft. */
const DOUBTED_POINTS = SOFT_POINTS - 1;

/** Points by the characters of prose: for a heading that states an absence, for a title, and for bare words, which may be a name. */
const WORDS: readonly { up_to: number; headed: number; stated: number; bare: number }[] = [
  { up_to: 150, headed: 20, stated: 20, bare: 20 },
  { up_to: 400, headed: 20, stated: 5, bare: 0 },
  { up_to: 1500, headed: 0, stated: 0, bare: -40 },
];
const MANY_WORDS = { headed: -20, stated: -20, bare: -60 };
const ENOUGH_WORDS = 1501;
const FEW_WORDS = 150;
/** Most characters of a page whose first sentences are read. */
const LEAD_WORDS = 400;
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
  /** Points that the page lost for declaring itself a work. A sibling with the same page refutes the declaration. */
  work: number;
}

const NONE: Suspicion = { points: 0, work: 0 };
const DOUBTED: Suspicion = { points: DOUBTED_POINTS, work: 0 };
/** More than an honest sibling takes away. */
const CERTAIN: Suspicion = { points: 2 * SOFT_POINTS, work: 0 };

/**
 * The evidence against a page. `requested` is the first URL and `final` that of the page: the same object without redirects.
 * `shared`: other URLs of the host show the same page, while it shows different pages too.
 */
export function suspicionOf(html: string, signs: PageSigns, requested: URL, final: URL, shared: boolean): Suspicion {
  const of_site = absenceOfSite(html, signs, requested, final);
  if (of_site === 'certain') return CERTAIN;
  const of_page = isRoot(requested) ? NONE : suspicionOfPage(html, signs, requested, final, shared);
  return of_site === 'stated' && of_page.points < DOUBTED_POINTS ? DOUBTED : of_page;
}

function suspicionOfPage(html: string, signs: PageSigns, requested: URL, final: URL, shared: boolean): Suspicion {
  const title = notFoundSaying(signs.title);
  let points = title === null ? 0 : TITLE_POINTS[title];
  let strongest = title;

  const has_h1 = signs.headings.some(({ level }) => level === 1);
  let heading_points = 0;
  for (const { level, text, at } of signs.headings) {
    if (title === null && signs.title.includes(text)) continue;
    const saying = notFoundSaying(text);
    if (saying === null || isHidden(html, at)) continue;
    const own = (level === 1 || !has_h1 ? H1_POINTS : H2_POINTS)[saying];
    const repeats = title !== null && title !== 'mentions' && signs.title.includes(text);
    heading_points = Math.max(heading_points, repeats ? Math.min(own, REPEATED_POINTS[saying]) : own);
    strongest = stronger(strongest, saying);
  }
  points += heading_points;

  if (requested !== final) {
    if (isHome(final) && !isHome(requested) && sameSite(requested, final)) points += POINTS.sent_home;
    else if (ERROR_PATH.test(final.pathname) && !ERROR_PATH.test(requested.pathname)) points += POINTS.error_path;
  }
  if (hasNotFoundMark(html)) points += POINTS.mark;

  const is_sentence = points === 0 && html.length < SMALL_PAGE;
  if (is_sentence) {
    // A heading that says something else stands for the page, unless the page has next to no other words.
    const most = signs.headings.length === 0 ? LEAD_WORDS : FEW_WORDS;
    const words = isShort(html, most) ? prose(html, most) : '';
    const { saying, statements } = readSayings(words);
    if (saying !== null) points += SENTENCE_POINTS[saying];
    if (saying === 'gone' && statements > 1 && signs.headings.length === 0) points += LEAD_POINTS.gone;
    else if (signs.headings.length === 0 && isPlain(notFoundSaying(words.split(' | ', 1)[0]!))) points += ALONE_POINTS;
    strongest = saying;
  }
  // That URLs share a page is no evidence by itself: shells, walls and empty lists are shared too.
  if (points === 0 || isChallengePage(html)) return NONE;
  const words = prose(html, ENOUGH_WORDS);
  if (shared) points += POINTS.shared;

  if (strongest !== null) {
    const length = weigh(words);
    const amount = WORDS.find(({ up_to }) => length <= up_to) ?? MANY_WORDS;
    if (strongest !== 'gone') points += amount.bare;
    else points += heading_points > 0 ? amount.headed : amount.stated;
    if (title === null && isPlain(strongest) && !is_sentence && signs.headings.length === 1 && length <= FEW_WORDS) {
      points += ALONE_POINTS;
    }
    if (strongest !== 'mentions' && !is_sentence && length <= LEAD_WORDS) points += leadPoints(words, signs);
    if (APOLOGY.test(signs.headings[0]?.text ?? signs.title)) points += POINTS.apology;
    if (amount === MANY_WORDS) points = Math.min(points, DOUBTED_POINTS);
  }
  if (isNoindex(html)) points += POINTS.noindex;
  if (isDiscussion(requested) || isDiscussion(final) || isMarkedDiscussion(html))
    points = Math.min(points, DOUBTED_POINTS);
  const work = isWork(html) ? WORK_POINTS : 0;
  return { points: points - work, work };
}

/** The length of a text in characters. A letter of Chinese, Japanese and Korean says as much as three others. */
function weigh(words: string): number {
  return words.length + 2 * (words.match(/[\u3040-\u9fff\uac00-\ud7af]/g)?.length ?? 0);
}

/** What the first sentences add to the title and the headings, which `words` repeats. */
function leadPoints(words: string, { headings }: PageSigns): number {
  let lead = words;
  for (const { text } of headings) lead = lead.replace(text, ' | ');
  const saying = notFoundSaying(lead);
  return saying === null ? 0 : LEAD_POINTS[saying];
}

function isPlain(saying: Saying): boolean {
  return saying === 'gone' || saying === 'bare';
}

function stronger(a: Saying, b: Saying): Saying {
  if (a === 'gone' || b === 'gone') return 'gone';
  return a === 'bare' || b === 'bare' ? 'bare' : (a ?? b);
}

const APOLOGY =
  /^[^\p{L}\d]*(?:404|o+ps+|whoops|uh[- ]oh|oh no|sorry|we(?:'|’)?re sorry|hoppla|ups|huch|oups|zut|désolé|vaya|lo sentimos|ops|desculpe|ci dispiace|oeps|jejda|hoppsan|hups|ой|упс|извините|к сожалению|抱歉|很抱歉|申し訳|죄송|عذر|عفو)/iu;

/** Whether the verdict depends on the answer of a probe. */
export function needsProbe(points: number, work = 0): boolean {
  return isSoft(points, 'equal', work) && !isSoft(points, 'honest', work);
}

/** Whether a page with these points is a soft 404. `work`: as in `Suspicion`. */
export function isSoft(points: number, probe: ProbeVerdict, work = 0): boolean {
  return points + PROBE_POINTS[probe] + (probe === 'equal' ? work : 0) >= SOFT_POINTS;
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
/** The shapes of addresses of issues, changes, questions, threads and messages: somebody reports that a page is not found. */
const DISCUSSION_PATH =
  /\/(?:issues?|bugs?|tickets?|pulls?|pull-requests?|merge_requests|commits?|questions?|answers?|discussions?|threads?|topics?|comments|show_bug\.cgi|viewtopic(?:\.php)?|showthread(?:\.php)?|viewthread(?:\.php)?|t|qa|[\w-]*forums?|mailing-?lists?|pipermail|browse(?=\/[a-z]+-\d))(?:\/|-|$|\?)/i;
const HOME_PATH = /^\/(?:(?:index|default|home)(?:\.\w{1,5})?)?$|^\/[a-z]{2}(?:[-_][a-z]{2})?\/?$/i;

/** No missing page could have been replaced by the root: it is a soft 404 only if the whole site is absent. */
function isRoot(url: URL): boolean {
  return url.pathname === '/' && url.search === '';
}

/** Whether a URL is a site's root, index page or root of a language, without a query. */
function isHome(url: URL): boolean {
  return url.search === '' && HOME_PATH.test(url.pathname);
}

/** Whether a URL has the shape of a discussion with a name or a number of its own. */
function isDiscussion({ pathname, search }: URL): boolean {
  const found = DISCUSSION_PATH.exec(pathname);
  return found !== null && (search !== '' || found.index + found[0].length < pathname.length);
}

function sameSite(a: URL, b: URL): boolean {
  const [x, y] = [a.hostname.replace(/^www\./, ''), b.hostname.replace(/^www\./, '')];
  return x === y || x.endsWith(`.${y}`) || y.endsWith(`.${x}`);
}
