// Finds the routes of a path by its segments: a word of the path comes before a parameter in the same place. Decision 189 says why.
import type { Method, Route } from './route.ts';

/** What a path leads to: the handlers by method, and the parameters of the path. */
export interface Found<Handler> {
  /** HEAD has the handler of GET. */
  handlers: ReadonlyMap<string, Handler>;
  params: Readonly<Record<string, string>>;
}

/** A place of the tree of paths. */
interface Place<Handler> {
  words: Map<string, Place<Handler>>;
  parameter: Place<Handler> | null;
  /** The names of the parameters are those of the first route here. */
  leaf: { names: readonly string[]; handlers: Map<string, Handler> } | null;
}

const PARAMETER = /^\{(\w+)\}$/;
const nameOf = (segment: string) => PARAMETER.exec(segment)?.[1];

export class Router<Handler> {
  readonly #root: Place<Handler> = newPlace();

  /** Throws for a second route of the method and path. */
  add({ method, path }: { method: Method; path: Route['path'] }, handler: Handler): void {
    let place = this.#root;
    const segments = path.split('/').slice(1);
    for (const segment of segments) {
      if (nameOf(segment) !== undefined) place = place.parameter ??= newPlace();
      else {
        const next = place.words.get(segment) ?? newPlace<Handler>();
        place.words.set(segment, next);
        place = next;
      }
    }
    const names = segments.flatMap((segment) => nameOf(segment) ?? []);
    place.leaf ??= { names, handlers: new Map() };
    const { leaf } = place;
    if (leaf.handlers.has(method)) throw new Error(`${method} ${path}: another route is there`);
    if (leaf.names.join() !== names.join())
      throw new Error(`${method} ${path}: the parameters there are ${leaf.names}`);
    if (method === 'GET') leaf.handlers.set('HEAD', handler);
    leaf.handlers.set(method, handler);
  }

  /**
   * Returns the routes with the fewest parameters that the path fits, whatever methods they take; null for an unknown path.
   * @example router.find('/jobs/wait') // those of `/jobs/wait`, and not those of `/jobs/{job_id}`
   */
  find(path: string): Found<Handler> | null {
    const segments = path.split('/');
    let best: { leaf: NonNullable<Place<Handler>['leaf']>; values: readonly string[] } | null = null;
    const look = (place: Place<Handler>, at: number, values: readonly string[]): void => {
      if (best !== null && values.length >= best.values.length) return;
      if (at === segments.length) {
        if (place.leaf) best = { leaf: place.leaf, values };
        return;
      }
      const segment = segments[at]!;
      const word = place.words.get(segment);
      if (word) look(word, at + 1, values);
      if (place.parameter && segment !== '') look(place.parameter, at + 1, [...values, segment]);
    };
    if (segments[0] === '') look(this.#root, 1, []);
    return best && foundIn(best);
  }
}

const newPlace = <Handler>(): Place<Handler> => ({ words: new Map(), parameter: null, leaf: null });

function foundIn<Handler>({
  leaf,
  values,
}: {
  leaf: NonNullable<Place<Handler>['leaf']>;
  values: readonly string[];
}): Found<Handler> {
  const params: Record<string, string> = {};
  for (const [n, name] of leaf.names.entries()) params[name] = decoded(values[n]!);
  return { handlers: leaf.handlers, params };
}

/** What is no percent-encoding stays as it is. */
function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
