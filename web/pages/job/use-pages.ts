// The pages of a long list that are in view, asked for as they come into it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type AnswerOf, ApiError, ask } from '../../api/ask.ts';
import type { Filter } from './filters.tsx';

export type Result = AnswerOf<'GET /jobs/{job_id}/results'>['items'][number];

const PAGE = 100;
/** Pages that are kept; those farthest from the view go first, so that memory stays flat. */
const MAX_PAGES = 40;
/** A view that rushes by asks for nothing. */
const SETTLE_MS = 60;
const RETRY_MS = 3000;

export interface Pages {
  /** Null before the first answer. */
  total: number | null;
  error: ApiError | null;
  /** Asks again for what is in view. */
  again(): void;
  /** Undefined while its page is asked for. */
  row(index: number): Result | undefined;
}

/** `version`: what is shown is asked for again when it changes, and shown until the answer comes. */
export function usePages(job_id: string, filter: Filter, version: string, view: { first: number; end: number }): Pages {
  const kept = useRef(new Map<number, { version: string; items: readonly Result[] }>());
  const [total, setTotal] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [tries, setTries] = useState(0);
  const [, setAnswers] = useState(0);
  const of = JSON.stringify(filter);
  const first_page = Math.floor(view.first / PAGE);
  const last_page = Math.floor(Math.max(view.first, view.end - 1) / PAGE);

  useEffect(() => {
    kept.current.clear();
    setTotal(null);
  }, [job_id, of]);

  async function take(page: number, signal: AbortSignal): Promise<void> {
    const filtered = { job_id, ...(JSON.parse(of) as Filter) };
    const given = { ...filtered, limit: PAGE, offset: page * PAGE };
    const { items, total } = await ask('GET /jobs/{job_id}/results', given, { signal });
    kept.current.set(page, { version, items });
    forget(kept.current, page);
    setTotal(total);
    setError(null);
    // The total may be the same, and the rows new.
    setAnswers((n) => n + 1);
  }

  useEffect(() => {
    const abort = new AbortController();
    const wanted = [first_page, last_page].filter(
      (page, n, all) => all.indexOf(page) === n && kept.current.get(page)?.version !== version,
    );
    const timer = setTimeout(
      async () => {
        try {
          await Promise.all(wanted.map((page) => take(page, abort.signal)));
        } catch (thrown) {
          if (abort.signal.aborted) return;
          if (!(thrown instanceof ApiError)) throw thrown;
          setError(thrown);
          if (thrown.is_passing) setTimeout(() => abort.signal.aborted || setTries((n) => n + 1), RETRY_MS);
        }
      },
      kept.current.size === 0 ? 0 : SETTLE_MS,
    );
    return () => {
      clearTimeout(timer);
      if (wanted.length > 0) abort.abort();
    };
  }, [job_id, of, version, first_page, last_page, tries]);

  return {
    ...{ total, error, again: () => setTries((n) => n + 1) },
    row: (index) => kept.current.get(Math.floor(index / PAGE))?.items[index % PAGE],
  };
}

function forget(pages: Map<number, unknown>, near: number): void {
  while (pages.size > MAX_PAGES) {
    const farthest = [...pages.keys()].reduce((a, b) => (Math.abs(b - near) > Math.abs(a - near) ? b : a));
    pages.delete(farthest);
  }
}
