// The port of traces: spans over the steps of a request and of a job. Without a tracer, which only a setting brings, a step costs one
// comparison more. An event carries the W3C traceparent of the step that appended it, so that what follows from it is of its trace.
export type Attributes = Readonly<Record<string, string | number>>;

export interface Step {
  name: string;
  /** `server`: it answers a request. `client`: it makes one. `consumer`: it follows from events or messages. Default: a part of the current step. */
  kind?: 'server' | 'client' | 'consumer';
  attributes?: Attributes;
  /** Traceparents of what caused the step. One is its parent; of several, each is a link. Default: the current step is the parent. */
  causes?: readonly string[];
}

export interface Span {
  rename(name: string): void;
  set(attributes: Attributes): void;
  /** Marks the step as failed although its work returns. `type`: of few values, such as a status code. */
  fail(type: string): void;
}

export interface Tracer {
  /** Runs `work` in a span. An error that it throws marks the span, and is thrown. */
  run<Result>(step: Step, work: (span: Span) => Promise<Result>): Promise<Result>;
  /** The current step's traceparent; undefined outside of steps. */
  traceparent(): string | undefined;
}

let tracer: Tracer | null = null;

/** Sets the tracer of this thread, from now on. */
export function setTracer(next: Tracer | null): void {
  tracer = next;
}

const UNTRACED: Span = { rename() {}, set() {}, fail() {} };

/** Runs `work`, in a span where this thread has a tracer. `step` is only called there. */
export function traced<Result>(step: () => Step, work: (span: Span) => Promise<Result>): Promise<Result> {
  return tracer === null ? work(UNTRACED) : tracer.run(step(), work);
}

/** Whether this thread has a tracer. */
export const isTraced = (): boolean => tracer !== null;

export const traceparent = (): string | undefined => tracer?.traceparent();
