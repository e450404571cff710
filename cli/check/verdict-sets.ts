// The words of `--only` and `--fail-on`: a verdict, or `broken` for all verdicts that a report calls broken.
import { VERDICTS, type Verdict } from '../../events/checks.ts';

/** The section of a report that lists the URLs of a verdict. */
type SectionName = 'broken' | 'blocked' | 'redirected' | 'ok';
const SECTION_OF: Readonly<Record<Verdict, SectionName>> = {
  ok: 'ok',
  redirected: 'redirected',
  broken: 'broken',
  soft_404: 'broken',
  blocked: 'blocked',
  unreachable: 'broken',
};
export const inSection = (section: SectionName): readonly Verdict[] =>
  VERDICTS.filter((verdict) => SECTION_OF[verdict] === section);

/** What a person calls broken: an error, no answer, or a page that says that there is nothing. A blocked page is not proven dead. */
export const BROKEN = inSection('broken');

/** `broken` stands for all of `BROKEN`; every other word for the verdict of that name. */
const VERDICT_WORDS: readonly string[] = VERDICTS;

/** Returns the verdicts of the words, which commas may separate; null when one of them is unknown. */
export function verdictsOf(words: readonly string[]): readonly Verdict[] | null {
  const named = words.flatMap((word) => word.split(',')).map((word) => word.trim());
  const verdicts = named.flatMap((word) => (word === 'broken' ? BROKEN : VERDICTS.filter((one) => one === word)));
  return named.every((word) => VERDICT_WORDS.includes(word)) ? VERDICTS.filter((one) => verdicts.includes(one)) : null;
}
