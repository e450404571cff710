// Actions of the reader, and short notices of what has just happened, which a screen reader reads aloud. What can be taken back has a
// button for it.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/ask.ts';

interface Toast {
  id: number;
  text: string;
  is_error: boolean;
  undo: (() => Promise<unknown>) | undefined;
}

const SHOWN_MS = 6000;
const UNDO_MS = 15_000;
const notices = new EventTarget();
let last_id = 0;

/**
 * `undo` takes back what was done.
 * @example say('The note is deleted.', { undo: () => ask('POST /admin/growth-notes', note) })
 */
export function say(text: string, { is_error = false, undo }: Partial<Pick<Toast, 'is_error' | 'undo'>> = {}): void {
  notices.dispatchEvent(new CustomEvent<Toast>('toast', { detail: { id: ++last_id, text, is_error, undo } }));
}

/** Tells the failure of an action; whatever is no answer of the service is a fault of the console. */
export function sayFailure(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
  say(error.request_id ? `${error.message} (request ${error.request_id})` : error.message, { is_error: true });
}

export function Toasts() {
  const [shown, setShown] = useState<readonly Toast[]>([]);
  // As in `useAddress`: what is said before the first frame shows too.
  useLayoutEffect(() => {
    const add = (event: Event) => setShown((before) => [...before, (event as CustomEvent<Toast>).detail]);
    notices.addEventListener('toast', add);
    return () => notices.removeEventListener('toast', add);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <Notice
          key={toast.id}
          toast={toast}
          onEnd={() => setShown((before) => before.filter(({ id }) => id !== toast.id))}
        />
      ))}
    </div>
  );
}

function Notice({ toast: { text, is_error, undo }, onEnd }: { toast: Toast; onEnd(): void }) {
  const element = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    // It stays for as long as the reader is at it.
    const look = () =>
      element.current?.matches(':hover, :focus-within') ? (timer = setTimeout(look, SHOWN_MS)) : onEnd();
    let timer = setTimeout(look, undo ? UNDO_MS : SHOWN_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p ref={element} class={is_error ? 'is-error' : ''}>
      {text}{' '}
      {undo && (
        <button
          type="button"
          onClick={() => {
            onEnd();
            undo().then(() => say('It is as it was.'), sayFailure);
          }}
        >
          Undo
        </button>
      )}
    </p>
  );
}

/**
 * Whether an action runs, and why the last one failed.
 * @example const pause = useAction(async () => void (await ask('POST /jobs/{job_id}/pause', { job_id })));
 */
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
