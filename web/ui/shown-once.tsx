// A key, a secret or a link that the service shows once, to be copied.
import { useEffect, useRef } from 'preact/hooks';
import { say } from './actions.tsx';
import { Field } from './form.tsx';

export function ShownOnce({ label, hint, value }: { label: string; hint: string; value: string }) {
  const input = useRef<HTMLInputElement>(null);
  // It stands where the button was that made it.
  useEffect(() => input.current?.focus(), []);
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <div class="fields">
          <input
            {...control}
            ref={input}
            class="key"
            value={value}
            readOnly
            onFocus={(event) => event.currentTarget.select()}
          />
          <button
            type="button"
            class="primary"
            onClick={() => navigator.clipboard.writeText(value).then(() => say('Copied.'))}
          >
            Copy
          </button>
        </div>
      )}
    </Field>
  );
}
