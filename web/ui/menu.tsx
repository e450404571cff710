// A button that opens a small list of actions beside it. Escape and a click elsewhere close it.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <div class="menu">
      <button type="button" popovertarget={id}>
        {label}
      </button>
      <div id={id} popover="auto">
        {children}
      </div>
    </div>
  );
}
