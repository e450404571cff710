// Whether a 2xx page is a "not found" in disguise: points for what the page itself gives, then, only when these could
// turn out either way, the answer that the same folder gives to a name that cannot be there.
import { isNearEmpty, isNoindex, readSigns, type Sketch, similarity } from './html.ts';
import { notFoundSaying } from './phrases.ts';

/** So many points make a page soft. */
export const SOFT_POINTS = 70;

const POINTS = {
  title_says: 60,
  title_mentions: 30,
  heading_says: 40,
  heading_mentions: 20,
  /** Sent from a page within the site to its home. */
  sent_home: 40,
  /** Ended at a path such as /404 or /not-found. */
  error_path: 40,
  near_empty: 15,
  noindex: 5,
} as const;

/** What the answer to a random sibling adds. */
const PROBE_POINTS = {
  /** The same page, whatever one asks for. */
  equal: 40,
  /** The site can say 404, and did not here. */
  honest: -30,
  /** A 2xx page, but another one. */
  different: -30,
  /** No answer, or one that tells nothing. */
  unknown: 0,
} as const;
export type ProbeVerdict = keyof typeof PROBE_POINTS;

/** Above this share of common word pairs, two pages are one page about two names. */
const NEAR_EQUAL = 0.9;

/** The points of a page. `requested` and `final` are the first URL and the one that gave the page: one object when nothing redirected. */
export function softPoints(html: string, requested: URL, final: URL): number {
  if (isRoot(requested)) return 0;
  const signs = readSigns(html);
  let points = 0;
  let says_so = false;

  const title = notFoundSaying(signs.title);
  if (title !== null) {
    points += title === 'says' ? POINTS.title_says : POINTS.title_mentions;
    says_so = true;
  }
  let heading_points = 0;
  for (const heading of signs.headings) {
    const saying = notFoundSaying(heading);
    if (saying === 'says') heading_points = POINTS.heading_says;
    else if (saying === 'mentions') heading_points = Math.max(heading_points, POINTS.heading_mentions);
  }
  if (heading_points > 0) {
    points += heading_points;
    says_so = true;
  }
  if (requested !== final) {
    if (isHome(final) && !isHome(requested) && sameSite(requested, final)) {
      points += POINTS.sent_home;
      says_so = true;
    } else if (ERROR_PATH.test(final.pathname) && !ERROR_PATH.test(requested.pathname)) {
      points += POINTS.error_path;
      says_so = true;
    }
  }
  // The shell of an application is empty and one for all its pages: emptiness alone is no evidence.
  if (!says_so) return 0;
  if (isNearEmpty(html)) points += POINTS.near_empty;
  if (isNoindex(html)) points += POINTS.noindex;
  return points;
}

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

export function compareToProbe(page: Sketch, final: URL, probe: ProbeAnswer): ProbeVerdict {
  const { status } = probe;
  if (status === 404 || status === 410) return 'honest';
  if (status === null || status < 200 || status > 299 || probe.sketch === null) return 'unknown';
  if (similarity(page, probe.sketch) >= NEAR_EQUAL) return 'equal';
  return probe.final_path === final.pathname ? 'equal' : 'different';
}

/** The folder of a URL, for which one probe answers, and the random sibling to ask for. `random` in [0, 1). */
export function folderOf(url: URL): string {
  return url.origin + url.pathname.slice(0, url.pathname.lastIndexOf('/') + 1);
}

export function siblingIn(folder: string, random: number): URL {
  const name = Math.floor(random * 36 ** 10)
    .toString(36)
    .padStart(10, 'q');
  return new URL(`${folder}${name}-${name.slice(0, 4)}`);
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
