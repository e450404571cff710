// All that was found of one URL, and what to do about it.
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { counted, span } from '../../ui/numbers.ts';
import { ResultLink } from '../../ui/result-link.tsx';
import { VERDICT_LABELS } from '../../ui/verdicts.ts';
import { adviceOn } from './advice.ts';
import type { Result } from './use-pages.ts';

export function ResultDetails({ result, onClose }: { result: Result; onClose(): void }) {
  const {
    url,
    verdict,
    redirect_chain,
    redirects,
    redirect_kind,
    temporary,
    tried_ms,
    status_code,
    error_code,
    content_type,
    protection,
    attempts,
    response_time_ms,
  } = result;
  const facts: readonly [string, string | null][] = [
    ['Status', status_code === null ? null : String(status_code)],
    ['Error', error_code?.replaceAll('_', ' ') ?? null],
    ['Response time', response_time_ms === null ? null : span(response_time_ms)],
    ['Content type', content_type],
    ['Bot protection', protection],
    ['Attempts', counted(attempts, 'attempt') + (tried_ms === undefined ? '' : ` in ${span(tried_ms)}`)],
    ['May pass', temporary ? 'yes' : null],
    ['Redirects are', redirect_kind ?? null],
    ['Where it stands', result.cell ?? (result.row === null ? null : `row ${result.row}`)],
  ];
  return (
    <Dialog title={VERDICT_LABELS[verdict]} onClose={onClose}>
      <p>
        <ResultLink url={url} />
      </p>
      <p class="notice">{adviceOn(result)}</p>
      {redirect_chain.length > 0 && (
        <section>
          <h3>{counted(redirect_chain.length, 'redirect')}</h3>
          <ol class="hops">
            {redirect_chain.map((hop, n) => (
              <li key={`${n}${hop}`}>
                <ResultLink url={hop} />
                {redirects[n] && <small> {redirects[n].status_code}</small>}
              </li>
            ))}
          </ol>
        </section>
      )}
      <dl class="facts-list">
        {facts.map(
          ([label, value]) =>
            value !== null && (
              <div key={label}>
                <dt>{label}</dt>
                <dd>
                  <bdi>{value}</bdi>
                </dd>
              </div>
            ),
        )}
      </dl>
      <DialogFooter onClose={onClose} />
    </Dialog>
  );
}
