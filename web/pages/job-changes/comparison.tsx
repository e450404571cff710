// Two jobs of a list compared: the changes by kind, and each with what was found before and after. Kind and page are in the address.
import type { AnswerOf } from '../../api/ask.ts';
import { to, useAddress } from '../../app/address.ts';
import { Empty, Failure } from '../../ui/failure.tsx';
import { Filters } from '../../ui/filters.tsx';
import { namesOf } from '../../ui/names.ts';
import { ResultLink } from '../../ui/result-link.tsx';
import { type Column, Pager, Table, useList } from '../../ui/table.tsx';
import { counted, grouped, Time } from '../../ui/values.tsx';
import { VERDICT_LABELS } from '../../ui/verdicts.ts';

type Changes = AnswerOf<'GET /jobs/{job_id}/changes'>;
type Changed = Changes['items'][number];
type Found = NonNullable<Changed['before']>;

const LIMIT = 50;
const KINDS = namesOf<Changed['change']>({ broke: 1, healed: 1, moved: 1, changed: 1, added: 1, removed: 1 });

const COLUMNS: readonly Column<Changed>[] = [
  { label: 'Change', cell: ({ change }) => <span class={`badge is-${change}`}>{change}</span> },
  { label: 'URL', cell: ({ url }) => <ResultLink url={url} /> },
  { label: 'Before', cell: ({ before }) => <Outcome found={before} /> },
  { label: 'After', cell: ({ after }) => <Outcome found={after} /> },
];

export function Comparison({ job, since }: { job: AnswerOf<'GET /jobs/{job_id}'>; since: string }) {
  const { path, query } = useAddress();
  const change = KINDS.find((kind) => kind === query.get('change'));
  const changes = useList('GET /jobs/{job_id}/changes', { job_id: job.job_id, since, change }, { limit: LIMIT });
  const { value } = changes;
  if (!value) {
    return (
      <>
        <Failure of={changes} />
        {changes.is_waiting && (
          <section class="empty" role="status">
            <h2>Comparing {counted(job.completed_urls, 'URL')}</h2>
            <progress aria-label="Comparing" />
            <p>Both lists are read whole, but only the first time.</p>
          </section>
        )}
        <p>
          <a href={to(path)}>Compare with another job</a>
        </p>
      </>
    );
  }
  const all = KINDS.reduce((sum, kind) => sum + value.counts[kind], 0);
  return (
    <>
      <p class="facts">
        <span>
          since the job of <Time at={value.since.completed_at} />
        </span>
        <span>{counted(value.since.completed_urls, 'URL')} then</span>
        <span>{counted(job.completed_urls, 'URL')} now</span>
        <span>{grouped(value.unchanged)} unchanged</span>
        <a href={to(path)}>Compare with another job</a>
      </p>
      <Filters
        label="Kind of change"
        choices={[undefined, ...KINDS]}
        chosen={change}
        hrefOf={(kind) => to(path, { since, change: kind })}
        textOf={(kind) => (
          <>
            {kind ?? 'all'} <b>{grouped(kind ? value.counts[kind] : all)}</b>
          </>
        )}
      />
      <Failure of={changes} />
      {value.total > 0 ? (
        <div class="changes" aria-busy={changes.is_waiting}>
          <Table
            caption="Changes"
            columns={COLUMNS}
            items={value.items}
            keyOf={({ before, after }) => `${before?.row} ${after?.row} ${(after ?? before)!.url}`}
          />
          <Pager {...value} />
        </div>
      ) : (
        <Empty title={change ? 'No change of this kind' : 'Nothing changed'}>
          {change ? (
            <a class="button" href={to(path, { since })}>
              Show all changes
            </a>
          ) : (
            <p>{counted(value.unchanged, 'URL')} answered as before.</p>
          )}
        </Empty>
      )}
    </>
  );
}

/** What one of the two jobs found, with the address where it ended when that is another one. */
function Outcome({ found }: { found: Found | null }) {
  if (found === null) return <small>not checked</small>;
  const { verdict, status_code, error_code, final_url, url } = found;
  return (
    <>
      <span class={`badge is-${verdict}`}>{VERDICT_LABELS[verdict]}</span>{' '}
      {status_code ?? error_code?.replaceAll('_', ' ') ?? ''}
      {final_url !== null && final_url !== url && (
        <small class="ended-at">
          <ResultLink url={final_url} />
        </small>
      )}
    </>
  );
}
