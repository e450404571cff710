// The choices of which a list shows one: links, so that each has an address.
import type { ComponentChildren } from 'preact';

interface FiltersProps<Choice> {
  /** What is chosen, for who does not see it. */
  label: string;
  choices: readonly Choice[];
  chosen: Choice;
  hrefOf(choice: Choice): string;
  textOf(choice: Choice): ComponentChildren;
}

export function Filters<Choice extends string | undefined>({
  label,
  choices,
  chosen,
  hrefOf,
  textOf,
}: FiltersProps<Choice>) {
  return (
    <nav class="filters" aria-label={label}>
      {choices.map((choice) => (
        <a key={choice} href={hrefOf(choice)} aria-current={choice === chosen ? 'true' : undefined}>
          {textOf(choice)}
        </a>
      ))}
    </nav>
  );
}
