// A fault: when it was, what it does, for how long the service may stand still after it, and who is told of it.
import type { Post } from './post.ts';
import type { Random } from './random.ts';
import type { Shape } from './shapes.ts';
import type { Target } from './target.ts';

/** What the guide promises of each store. */
export const STORE_BACK_MS = 10_000;

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
  /** Says which server it strikes. */
  strikes(server: string): void;
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

export interface World {
  shape: Shape;
  target: Target;
  post: Post;
  random: Random;
  spans: readonly Span[];
  /** Hears of a role that was asked to end and did not end well. */
  violated(what: string): void;
  /** Asks the service to make a projection anew. */
  rebuild(projection: string): Promise<void>;
}

/** Each part is troubled by one fault at a time. */
const troubled = new Set<object>();

export async function troubling<T extends object>(
  { random }: World,
  among: readonly T[],
  run: (one: T) => Promise<void>,
): Promise<void> {
  const free = among.filter((one) => !troubled.has(one));
  if (free.length === 0) return;
  const one = random.pick(free);
  troubled.add(one);
  await run(one).finally(() => troubled.delete(one));
}
