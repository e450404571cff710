// The query string as its schema has it: text becomes whole numbers, numbers and booleans where those are declared.
import type { TObject } from '../events/schema.ts';
import type { Problem } from './errors.ts';

interface Parameter {
  type?: string;
  items?: Parameter;
}

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false, '1': true, '0': false };

/** A parameter that is given twice is a problem, unless it is a list. Text that is no number stays as it is, for the schema to refuse. */
export function readQuery(search: string, schema: TObject): { query: Record<string, unknown>; problems: Problem[] } {
  const query: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const [name, text] of new URLSearchParams(search)) {
    const parameter = (Object.hasOwn(schema.properties, name) ? schema.properties[name] : {}) as Parameter;
    const is_list = parameter.type === 'array';
    if (is_list) {
      query[name] = [...((query[name] as unknown[] | undefined) ?? []), coerced(text, parameter.items?.type)];
    } else if (Object.hasOwn(query, name)) {
      problems.push({ loc: ['query', name], msg: 'is given more than once', type: 'repeated' });
    } else {
      define(query, name, coerced(text, parameter.type));
    }
  }
  return { query, problems: [...problems, ...encodingProblems(search)] };
}

/** Bytes that are not UTF-8 would be read as U+FFFD, and nothing found that has them. */
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

/** Even when the name is `__proto__`, which an assignment would not store. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
