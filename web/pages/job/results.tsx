// The results of a job as a table that may have a million rows: only those in view exist. A row opens to what was found.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { setQuery, useAddress } from '../../app/address.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { Empty, Failure } from '../../ui/failure.tsx';
import { ResultLink } from '../../ui/result-link.tsx';
import { counted, grouped, span } from '../../ui/values.tsx';
import { VERDICT_LABELS } from '../../ui/verdicts.ts';
import { ROW_PX, windowOf } from '../../ui/windowed.ts';
import { adviceOn } from './advice.ts';
import { Filters, filterIn, NO_FILTER } from './filters.tsx';
import type { Job } from './use-job.ts';
import { type Result, usePages } from './use-pages.ts';

export function Results({ job, version }: { job: Job; version: string }) {
  const { job_id } = job;
  const { query } = useAddress();
  const [view, setView] = useState({ top_px: 0, height_px: 0 });
  const [rows, setRows] = useState(0);
  const [opened, setOpened] = useState<Result | null>(null);
  const shown = windowOf(rows, view);
  const pages = usePages(job_id, filterIn(query), version, shown);
  const { total } = pages;
  useEffect(() => {
    if (total !== null) setRows(total);
  }, [total]);
  // Scrolling renders this component for each frame, and the filters not.
  const filters = useMemo(() => <Filters job_id={job_id} version={version} />, [job_id, version]);

  return (
    <section class="results">
      <header class="title">
        <h2>Results</h2>
        {total !== null && <small aria-live="polite">{counted(total, 'result')}</small>}
      </header>
      {filters}
      <Failure of={{ ...pages, value: total ?? undefined }} />
      {total === 0 ? (
        <NoResults is_filtered={Object.values(filterIn(query)).some((value) => value !== undefined)} />
      ) : (
        <Rows {...{ rows, shown, view, onView: setView, onOpen: setOpened }} row={pages.row} />
      )}
      {opened && <ResultDetails result={opened} onClose={() => setOpened(null)} />}
    </section>
  );
}

function NoResults({ is_filtered }: { is_filtered: boolean }) {
  if (!is_filtered) return <Empty title="No result yet" />;
  return (
    <Empty title="No result passes these filters">
      <button type="button" onClick={() => setQuery(NO_FILTER)}>
        Show all results
      </button>
    </Empty>
  );
}

interface RowsProps {
  rows: number;
  shown: ReturnType<typeof windowOf>;
  view: { top_px: number; height_px: number };
  onView(view: { top_px: number; height_px: number }): void;
  onOpen(result: Result): void;
  row(index: number): Result | undefined;
}

/** The rows of the table are laid out by themselves, because only those in view exist. */
function Rows({ rows, shown, onView, onOpen, row }: RowsProps) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current!;
    const look = () => onView({ top_px: element.scrollTop, height_px: element.clientHeight });
    const resized = new ResizeObserver(look);
    resized.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [onView]);
  const indexes = Array.from({ length: shown.end - shown.first }, (_, n) => shown.first + n);
  return (
    <section
      ref={frame}
      class="grid"
      aria-label="Results"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
      tabIndex={0}
      style={{ height: `min(70vh, ${(rows + 1) * ROW_PX + 2}px)` }}
    >
      <table aria-rowcount={rows + 1} style={{ height: `${shown.height_px + ROW_PX}px` }}>
        <thead>
          <tr aria-rowindex={1}>
            {COLUMNS.map((label) => (
              <th key={label} scope="col" class={label === 'Time' ? 'number' : undefined}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody style={{ transform: `translateY(${shown.top_px}px)` }}>
          {indexes.map((index) => (
            <Row key={index} index={index} result={row(index)} onOpen={onOpen} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

const COLUMNS = ['Row', 'URL', 'Verdict', 'Code', 'Time'];

interface RowProps {
  index: number;
  result: Result | undefined;
  onOpen(result: Result): void;
}

/** The same element for the same result, so that scrolling renders only the rows that come into view. */
function Row({ index, result, onOpen }: RowProps) {
  return useMemo(() => cellsOf({ index, result, onOpen }), [index, result, onOpen]);
}

function cellsOf({ index, result, onOpen }: RowProps) {
  if (!result) return <tr aria-rowindex={index + 2} />;
  const { row, url, verdict, status_code, response_time_ms, error_code } = result;
  return (
    <tr aria-rowindex={index + 2}>
      <td>{row === null ? '' : grouped(row)}</td>
      <td>
        <button type="button" class="plain" title={url} onClick={() => onOpen(result)}>
          <bdi>{url}</bdi>
        </button>
      </td>
      <td>
        <span class={`badge is-${verdict}`} title={VERDICT_LABELS[verdict]}>
          {verdict === 'blocked' ? 'Blocked' : VERDICT_LABELS[verdict]}
        </span>
      </td>
      <td title={error_code ?? undefined}>{status_code ?? error_code?.replaceAll('_', ' ') ?? '–'}</td>
      <td class="number">{response_time_ms === null ? '–' : `${grouped(response_time_ms)} ms`}</td>
    </tr>
  );
}

// All that was found of one URL, and what to do about it.
function ResultDetails({ result, onClose }: { result: Result; onClose(): void }) {
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
