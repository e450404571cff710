// Short notices of what has just happened, read aloud where the reader uses a screen reader.
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/ask.ts';

interface Toast {
  id: number;
  text: string;
  is_error: boolean;
}

const SHOWN_MS = 6000;
const notices = new EventTarget();
let last_id = 0;

/** @example say('The job is paused.') */
export function say(text: string, { is_error = false } = {}): void {
  notices.dispatchEvent(new CustomEvent<Toast>('toast', { detail: { id: ++last_id, text, is_error } }));
}

/** Tells the failure of an action; whatever is no answer of the service is a fault of the console. */
export function sayFailure(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
  say(error.request_id ? `${error.message} (request ${error.request_id})` : error.message, { is_error: true });
}

export function Toasts() {
  const [shown, setShown] = useState<readonly Toast[]>([]);
  useEffect(() => {
    const add = (event: Event) => {
      const { detail } = event as CustomEvent<Toast>;
      setShown((before) => [...before, detail]);
      setTimeout(() => setShown((before) => before.filter(({ id }) => id !== detail.id)), SHOWN_MS);
    };
    notices.addEventListener('toast', add);
    return () => notices.removeEventListener('toast', add);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, is_error }) => (
        <p key={id} class={is_error ? 'is-error' : ''}>
          {text}
        </p>
      ))}
    </div>
  );
}
