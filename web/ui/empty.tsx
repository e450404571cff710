// The place of something that is not there yet: it says what to do next.
import type { ComponentChildren } from 'preact';

interface EmptyProps {
  title: string;
  /** Whether the page has nothing else, so that this is its heading. */
  is_page?: boolean;
  children?: ComponentChildren;
}

export function Empty({ title, is_page = false, children }: EmptyProps) {
  const Heading = is_page ? 'h1' : 'h2';
  return (
    <section class="empty">
      <Heading>{title}</Heading>
      {children}
    </section>
  );
}
