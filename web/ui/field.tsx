// A labelled control of a form, with a hint that belongs to it.
import type { ComponentChildren, LooseInputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

/** What the control takes from its field. */
interface ControlProps {
  id: string;
  'aria-describedby': string | undefined;
}

interface FieldProps {
  label: string;
  hint?: string;
  children(control: ControlProps): ComponentChildren;
}

/** @example <Field label="Notes">{(control) => <textarea {...control} />}</Field> */
export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  const note = hint && `${id}-note`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': note })}
      {hint && <small id={note}>{hint}</small>}
    </div>
  );
}

type InputProps = Omit<LooseInputHTMLAttributes<HTMLInputElement>, 'onInput' | 'onChange' | 'label' | 'type' | 'role'>;

interface TextFieldProps extends Omit<FieldProps, 'children'>, InputProps {
  type?: 'date' | 'number' | 'search' | 'url';
  list?: string;
  /** Takes the text after each letter. */
  onInput?(text: string): void;
  /** Takes the text when the user is done with it. */
  onChange?(text: string): void;
}

/** @example <TextField label="URL" type="url" value={url} onInput={setUrl} /> */
export function TextField({ label, hint, onInput, onChange, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          {...input}
          onInput={onInput && ((event) => onInput(event.currentTarget.value))}
          onChange={onChange && ((event) => onChange(event.currentTarget.value))}
        />
      )}
    </Field>
  );
}

/** The option of a filter that takes everything. */
export const ANY = { value: '', label: 'any' };

interface SelectFieldProps extends Omit<FieldProps, 'children'> {
  value: string | number | undefined;
  options: readonly { value: string | number; label: string }[];
  onChange(value: string): void;
}

/** @example <SelectField label="Sheet" value={sheet} options={[{ value: 'a', label: 'A' }]} onChange={setSheet} /> */
export function SelectField({ value, options, onChange, ...field }: SelectFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
