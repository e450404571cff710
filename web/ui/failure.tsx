// In the place of an answer: a failure in words, with the request's id for whoever looks into the log, or what to do next.

import type { ComponentChildren } from 'preact';
import type { Answer, ApiError } from '../api/ask.ts';

interface FailureProps {
  of: Pick<Answer<unknown>, 'error' | 'value' | 'again'>;
  /** The heading of a page that has none without the answer. */
  title?: string;
}

/** In the place of an answer that did not come, or above one that is no longer current. */
export function Failure({ of, title }: FailureProps) {
  const { error, value, again } = of;
  if (!error) return null;
  if (title !== undefined && value === undefined) {
    return (
      <>
        <h1>{title}</h1>
        <Failure of={of} />
      </>
    );
  }
  return (
    <div class="failure" role="alert">
      <p>
        {value !== undefined && 'What you see is not current. '}
        <FailureText error={error} />
        {error.is_passing && ' Trying again …'}
      </p>
      <button type="button" onClick={again}>
        Try again
      </button>
    </div>
  );
}

/** Why an action of the reader failed. */
export function Refusal({ error }: { error: ApiError | null }) {
  if (!error) return null;
  return (
    <p class="failure" role="alert">
      <FailureText error={error} />
    </p>
  );
}

export function FailureText({ error }: { error: ApiError }) {
  return (
    <>
      {error.message}
      {error.request_id && <small> Request {error.request_id}</small>}
    </>
  );
}

interface EmptyProps {
  title: string;
  /** Whether the page has nothing else, so that this is its heading. */
  is_page?: boolean;
  children?: ComponentChildren;
}

/** In the place of something that is not there yet: it says what to do next. */
export function Empty({ title, is_page = false, children }: EmptyProps) {
  const Heading = is_page ? 'h1' : 'h2';
  return (
    <section class="empty">
      <Heading>{title}</Heading>
      {children}
    </section>
  );
}
