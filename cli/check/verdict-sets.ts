// The words of `--only` and `--fail-on`: a verdict, or `dead` for all verdicts of links that lead nowhere.
import type { styleText } from 'node:util';
import { VERDICTS, type Verdict } from '../../events/checks.ts';

/** The section of a report that lists the URLs of a verdict. */
type SectionName = 'dead' | 'blocked' | 'redirected' | 'ok';

/** How reports show each verdict. */
export const SHOWN: Readonly<Record<Verdict, VerdictLook>> = {
  ok: { section: 'ok', style: 'green', color: '#2e7d32', reason: null },
  redirected: { section: 'redirected', style: 'cyan', color: '#06799f', reason: ({ final_url }) => `to ${final_url}` },
  broken: { section: 'dead', style: 'red', color: '#c62828', reason: null },
  soft_404: {
    ...{ section: 'dead', style: 'magenta', color: '#ad1aad' },
    reason: () => 'soft 404: the page says that there is nothing',
  },
  blocked: { section: 'blocked', style: 'yellow', color: '#9a6700', reason: null },
  unreachable: { section: 'dead', style: 'red', color: '#c62828', reason: null },
};
interface VerdictLook {
  section: SectionName;
  /** In a terminal. */
  style: Parameters<typeof styleText>[0];
  /** On a page. */
  color: string;
  /** Why a URL has the verdict, in a few words; null: its status and its error code say it. */
  reason: ((result: { final_url: string | null }) => string) | null;
}
/** The characters of the longest verdict, and a space. */
export const VERDICT_CHARS = Math.max(...VERDICTS.map((verdict) => verdict.length)) + 1;

export const inSection = (section: SectionName): readonly Verdict[] =>
  VERDICTS.filter((verdict) => SHOWN[verdict].section === section);

/** The links that lead nowhere: an error, no answer, or a page that says that there is nothing. A blocked page is possibly alive. */
export const DEAD = inSection('dead');

const MEANT: ReadonlyMap<string, readonly Verdict[]> = new Map([
  ...VERDICTS.map((verdict) => [verdict, [verdict]] as const),
  ['dead', DEAD] as const,
]);
export const VERDICT_WORDS: readonly string[] = [...MEANT.keys()];

/** Returns the verdicts of the words, which commas may separate; null when one of them is unknown. */
export function verdictsOf(words: readonly string[]): readonly Verdict[] | null {
  const named = words.flatMap((word) => word.split(',')).map((word) => word.trim());
  const verdicts = named.flatMap((word) => MEANT.get(word) ?? []);
  return named.every((word) => MEANT.has(word)) ? VERDICTS.filter((one) => verdicts.includes(one)) : null;
}
