// An action of the reader: whether it runs, and why the last one failed.
import { useState } from 'preact/hooks';
import { ApiError } from '../api/ask.ts';

/** @example const pause = useAction(async () => void (await ask('POST /jobs/{job_id}/pause', { job_id }))); */
export function useAction(action: () => Promise<void>) {
  const [state, setState] = useState<{ is_running: boolean; error: ApiError | null }>({
    is_running: false,
    error: null,
  });
  async function run(): Promise<void> {
    setState({ is_running: true, error: null });
    try {
      await action();
      setState({ is_running: false, error: null });
    } catch (error) {
      setState({ is_running: false, error: error instanceof ApiError ? error : null });
      if (!(error instanceof ApiError)) throw error;
    }
  }
  return { ...state, run };
}
