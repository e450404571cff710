// The report as JSON, for programs: the counts, how the inputs were read, and each result.
import { findingsOf } from '../../events/findings.ts';
import { type Checked, countOf, isInterrupted } from './checked.ts';
import { DEAD } from './verdict-sets.ts';

export function* jsonOf(checked: Checked): Generator<string> {
  const { counts, verdicts, seconds, began_at, inputs, rejected, fail_on, only } = checked;
  const head = {
    status: isInterrupted(checked) ? 'interrupted' : 'completed',
    began_at,
    seconds: Number(seconds.toFixed(3)),
    ...counts,
    verdicts,
    dead: countOf(checked, DEAD),
    failing: countOf(checked, fail_on),
    inputs,
    rejected,
  };
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "results": [`;
  let separator = '\n    ';
  for (const result of checked.results(only ?? undefined)) {
    const { redirect_statuses: _, ...found } = result;
    yield separator + JSON.stringify({ ...found, ...findingsOf(result, result.url) });
    separator = ',\n    ';
  }
  yield '\n  ]\n}\n';
}
