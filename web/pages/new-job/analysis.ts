// What a job of the list would check and cost, as the service finds it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type AnswerOf, ApiError } from '../../api/ask.ts';
import { upload } from '../../api/upload.ts';

export type Analysis = AnswerOf<'POST /analyze-csv'>;
/** In place of a column's letter. */
export const ALL_COLUMNS = '*';
/** Where the URLs stand in the file, where the reader chose that. */
export interface Place {
  column?: string;
  sheet?: string;
}

/** Asks the service, which makes no job of it. */
export function useAnalysis(file: File, { column, sheet }: Place, onProgress: (share: number) => void) {
  const [state, setState] = useState<{ value?: Analysis; error: ApiError | null; is_waiting: boolean }>({
    error: null,
    is_waiting: true,
  });
  const report = useRef(onProgress);
  useEffect(() => {
    const abort = new AbortController();
    setState(({ value }) => ({ value, error: null, is_waiting: true }));
    upload('POST /analyze-csv', { column, sheet }, file, { signal: abort.signal, onProgress: report.current }).then(
      (value) => setState({ value, error: null, is_waiting: false }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        setState({ error, is_waiting: false });
      },
    );
    return () => abort.abort();
  }, [file, column, sheet]);
  return state;
}
