// A fault: when it was, what it does, for how long the service may stand still after it, and who is told of it.
/** A time in which something was wrong, by the fair clock. */
export interface Span {
  what: string;
  from: number;
  to: number;
}

/** Who is told while it lasts: a condition of /readyz, and an alert whose expression holds. */
export interface Told {
  check?: string;
  alert: string;
}

export interface Run {
  /** It lasts long enough for an operator to be told. */
  is_long: boolean;
  /** Says who is to be told, as soon as that is known. */
  tells(told: Told): void;
}

export interface Fault {
  kind: string;
  weight: number;
  /** Nothing else is wrong meanwhile. */
  is_alone?: boolean;
  /** So long after its end the service may stand still, by the fair clock. */
  back_ms: number;
  run(run: Run): Promise<void>;
}
