// Numbers side by side, each with its label and, where that needs saying, a note.
import type { ComponentChildren } from 'preact';

/** @example <Figures><Figure label="Balance" note="credits">{grouped(300)}</Figure></Figures> */
export function Figures({ children }: { children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>;
}

interface FigureProps {
  label: string;
  note?: ComponentChildren;
  is_error?: boolean;
  /** The number as text. */
  children: ComponentChildren;
}

export function Figure({ label, note, is_error = false, children }: FigureProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class={is_error ? 'is-error' : undefined}>{children}</dd>
      {note && (
        <dd>
          <small>{note}</small>
        </dd>
      )}
    </div>
  );
}
