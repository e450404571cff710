// Parses a query string by its schema, which turns text into integers, numbers and booleans.
import type { TObject } from '../../../events/schema.ts';
import type { Problem } from '../errors.ts';

interface Parameter {
  type?: string;
  default?: unknown;
  examples?: readonly unknown[];
  items?: Parameter;
}

export interface QueryRules {
  /** Whether a parameter without a value counts as given. In a deletion it does: a filter that a script left empty would delete all. */
  keeps_empty?: boolean;
  /** Whether parameters that others add to links count for nothing. */
  is_open?: boolean;
}

/** What mail programs, social networks and caches add to links. */
const ADDED =
  /^(utm_[a-z_]{1,40}|fbclid|gclid|msclkid|mc_[ce]id|_|_t|cb|cachebust(er)?|cache_bust(er)?|nocache|ts|rnd?|rand|v)$/i;

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false, '1': true, '0': false };

/**
 * A parameter without a value counts as absent, unless its schema has an example without one. A repeated one is a problem unless its schema is a list. Text that is no number stays text, which the schema then refuses.
 * @example const { query, problems } = readQuery('limit=5', Type.Object({ limit: Type.Integer() }));
 */
export function readQuery(
  search: string,
  schema: TObject,
  { keeps_empty = false, is_open = false }: QueryRules = {},
): { query: Record<string, unknown>; problems: Problem[] } {
  const query: Record<string, unknown> = {};
  const problems: Problem[] = [];
  const given = new Set<string>();
  for (const [name, text] of new URLSearchParams(search)) {
    const parameter = (Object.hasOwn(schema.properties, name) ? schema.properties[name] : {}) as Parameter;
    if (is_open && ADDED.test(name) && !Object.hasOwn(schema.properties, name)) continue;
    const is_absent = text === '' && !keeps_empty && !parameter.examples?.includes('');
    const is_list = parameter.type === 'array';
    const is_repeated = given.has(name) && !is_list;
    given.add(name);
    if (is_absent && !is_repeated && Object.hasOwn(schema.properties, name)) continue;
    if (is_list) {
      query[name] = [...((query[name] as unknown[] | undefined) ?? []), coerced(text, parameter.items?.type)];
    } else if (is_repeated) {
      problems.push({ loc: ['query', name], msg: 'is given more than once', type: 'repeated' });
    } else {
      define(query, name, coerced(text, parameter.type));
    }
  }
  return { query, problems: [...problems, ...encodingProblems(search)] };
}

/** Reports parameters that are not UTF-8: URLSearchParams would read their bytes as U+FFFD, and a filter would find nothing. */
function encodingProblems(search: string): Problem[] {
  if (!/%[89a-f]/i.test(search)) return [];
  return search.split('&').flatMap((parameter) => {
    try {
      decodeURIComponent(parameter.replace(/%(?![0-9a-f]{2})/gi, '%25'));
      return [];
    } catch {
      const [name = ''] = new URLSearchParams(parameter).keys();
      return [{ loc: ['query', name], msg: 'is not UTF-8', type: 'encoding' }];
    }
  });
}

function coerced(text: string, type: string | undefined): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === 'number' && /^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
  if (type === 'boolean') return BOOLEANS[text.toLowerCase()] ?? text;
  return text;
}

/** Sets the property, also for the name `__proto__`, which an assignment would ignore. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
