// A labelled control of a form, with a hint and an error that belong to it.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** What the control takes from its field. */
interface ControlProps {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': boolean;
}

interface FieldProps {
  label: string;
  hint?: string;
  error?: string;
  children(control: ControlProps): ComponentChildren;
}

/** @example <Field label="URL contains">{(control) => <input {...control} type="search" />}</Field> */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': note && `${id}-note`, 'aria-invalid': error !== undefined })}
      {note && (
        <small id={`${id}-note`} class={error ? 'is-error' : ''}>
          {note}
        </small>
      )}
    </div>
  );
}
