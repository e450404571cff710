// Forms and what they consist of: labelled fields, checks and searches.
import type { ComponentChildren, LooseInputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';
import { setQuery, useAddress } from '../app/address.ts';

interface FormProps {
  class: string;
  onSubmit(form: HTMLFormElement): void;
  children: ComponentChildren;
}

/** The page sends it by itself: the browser goes nowhere. */
export function Form({ onSubmit, ...form }: FormProps) {
  return (
    <form
      {...form}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(event.currentTarget);
      }}
    />
  );
}

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

/** A filter that is on or off. */
export function Check({ label, is_on, set }: { label: string; is_on: boolean; set(is_on: boolean): void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={is_on} onChange={(event) => set(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

interface SearchFieldProps {
  label?: string;
  placeholder: string;
  max_chars?: number;
}

const MAX_CHARS = 200;

/** What is searched for on the page at this address; undefined for nothing. */
export const searchIn = (query: URLSearchParams, max_chars = MAX_CHARS): string | undefined =>
  query.get('search')?.slice(0, max_chars) || undefined;

/** A search in a list. Its words are in the address; each letter replaces them, so that Back leaves the list. */
export function SearchField({ label = 'Search', placeholder, max_chars = MAX_CHARS }: SearchFieldProps) {
  const { query } = useAddress();
  return (
    <TextField
      label={label}
      type="search"
      size={30}
      maxLength={max_chars}
      placeholder={placeholder}
      value={searchIn(query, max_chars) ?? ''}
      onInput={(text) => setQuery({ search: text, offset: undefined }, { replace: true })}
    />
  );
}
