// The verdicts in the order in which they are shown, with their words. `style/main.css` has a colour for each.
import type { AnswerOf } from '../api/ask.ts';

type Verdict = AnswerOf<'GET /jobs/{job_id}/results'>['items'][number]['verdict'];

export const VERDICT_LABELS: Readonly<Record<Verdict, string>> = {
  ok: 'OK',
  redirected: 'Redirected',
  soft_404: 'Soft 404',
  blocked: 'Blocked by bot protection',
  broken: 'Broken',
  unreachable: 'Unreachable',
};
export const VERDICTS = (Object.keys(VERDICT_LABELS) as Verdict[]).map((name) => ({
  name,
  label: VERDICT_LABELS[name],
}));
