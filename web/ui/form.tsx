// A form that the page sends by itself: the browser goes nowhere.
import type { ComponentChildren } from 'preact';

interface FormProps {
  class: string;
  onSubmit(form: HTMLFormElement): void;
  children: ComponentChildren;
}

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
