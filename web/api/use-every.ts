// Keeps an answer current: it is asked for again some time after each answer. A failure is tried again by `useAnswer` itself.
import { useEffect } from 'preact/hooks';
import type { Answer } from './use-answer.ts';

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
