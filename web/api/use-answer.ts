// An answer of the service as a component shows it: it waits, it has a value, it failed, or its value is no longer current.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type AnswerOf, ApiError, ask, type Given, type Operation } from './ask.ts';

export interface Answer<Value> {
  /** The last value: it stays while a newer one is asked for. Undefined before the first. */
  value: Value | undefined;
  /** Why there is no newer value. */
  error: ApiError | null;
  is_waiting: boolean;
  /** Asks again. */
  again(): void;
}

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

/**
 * Asks once for each different `given`, and again for another `version`; null asks nothing. While the service is away it
 * tries again, so that a page survives a restart.
 * @example const stats = useAnswer('GET /jobs/{job_id}/stats', { job_id });
 */
export function useAnswer<Name extends Operation>(
  name: Name,
  given: Given<Name> | null,
  version = '',
): Answer<AnswerOf<Name>> {
  const wanted = given === null ? null : JSON.stringify(given);
  const [asked, setAsked] = useState(0);
  const [answer, setAnswer] = useState<Omit<Answer<AnswerOf<Name>>, 'again'>>({
    ...{ value: undefined, error: null, is_waiting: wanted !== null },
  });
  const tries = useRef(0);

  useEffect(() => {
    if (wanted === null) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    setAnswer((last) => ({ ...last, is_waiting: true }));
    ask(name, JSON.parse(wanted) as Given<Name>, { signal: abort.signal })
      .then((value) => {
        tries.current = 0;
        setAnswer({ value, error: null, is_waiting: false });
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        setAnswer((last) => ({ ...last, error, is_waiting: false }));
        if (!error.is_passing) return;
        const wait_ms = Math.min(
          LONGEST_RETRY_MS,
          (error.retry_s ?? 0) * 1000 || FIRST_RETRY_MS * 2 ** tries.current++,
        );
        timer = setTimeout(() => setAsked((n) => n + 1), wait_ms);
      });
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [name, wanted, asked, version]);

  const again = useCallback(() => setAsked((n) => n + 1), []);
  return { ...answer, again };
}

// Keeps an answer current: it is asked for again some time after each answer. A failure is tried again by `useAnswer` itself.

/**
 * Null asks no more.
 * @example useEvery(2000, services)
 */
export function useEvery(wait_ms: number | null, { again, is_waiting, error }: Answer<unknown>): void {
  useEffect(() => {
    if (wait_ms === null || is_waiting || error) return;
    const timer = setTimeout(again, wait_ms);
    return () => clearTimeout(timer);
  }, [again, is_waiting, error, wait_ms]);
}
