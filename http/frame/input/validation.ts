// Validates requests by the schemas of their route, and lists the problems with their places.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { TObject, TSchema } from '../../../events/schema.ts';
import type { Problem } from '../errors.ts';
import { messageOf } from './messages.ts';

/** The most problems in one answer. */
const MAX_PROBLEMS = 50;
/** In a larger body the check stops at the first problem: listing 30,000 wrong values takes 0.1 s. */
const ALL_PROBLEMS_BYTES = 16 * 1024;

type Place = 'body' | 'query' | 'path' | 'header';

/** Fills in defaults in place. Returns the problems with the value, or an empty list. */
export type Check = (value: unknown, size_bytes?: number) => Problem[];

const OPTIONS = {
  ...{ strict: true, strictTypes: false, strictRequired: false, useDefaults: true, verbose: true },
  // The checks of the schemas themselves cost 50 ms; lint holds the documents, which have the same schemas, to OpenAPI.
  ...{ validateSchema: false, meta: false },
} as const;

export type Validation = ReturnType<typeof openValidation>;

export function openValidation() {
  const thorough = formats(new Ajv2020({ ...OPTIONS, allErrors: true }));
  const brief = formats(new Ajv2020(OPTIONS));
  return {
    /** The check compiles the schema at its first use. */
    compile(place: Place, schema: TSchema): Check {
      const compiled = new Map<Ajv2020, ValidateFunction>();
      return (value, size_bytes = 0) => {
        const problems = textProblems(value, [place]);
        if (problems.length > 0) return problems;
        const ajv = size_bytes > ALL_PROBLEMS_BYTES ? brief : thorough;
        const validate = compiled.get(ajv) ?? ajv.compile(withoutIds(schema));
        compiled.set(ajv, validate);
        return run(validate, place, value);
      };
    },
  };
}

/** Returns why every field refuses the text, or null. Stores treat NUL characters and lone surrogates differently. */
export function textProblem(text: string): Pick<Problem, 'msg' | 'type'> | null {
  if (text.includes('\0')) return { msg: 'holds a NUL character', type: 'nul' };
  return text.isWellFormed() ? null : { msg: 'holds half of a surrogate pair', type: 'surrogate' };
}

/** Returns the first problem of a text or field name in the value, whose depth is bounded. */
function textProblems(value: unknown, loc: Problem['loc']): Problem[] {
  if (typeof value === 'string') {
    const problem = textProblem(value);
    return problem ? [{ loc, ...problem }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  for (const name of Object.keys(value)) {
    const problem = Array.isArray(value) ? null : textProblem(name);
    if (problem) return [{ loc: [...loc, name.toWellFormed().slice(0, 200)], ...problem }];
    const inside = (value as Record<string, unknown>)[name];
    if (typeof inside !== 'string' && typeof inside !== 'object') continue;
    const problems = textProblems(inside, [...loc, Array.isArray(value) ? Number(name) : name]);
    if (problems.length > 0) return problems;
  }
  return [];
}

/** Removes `$id`, which names components of the OpenAPI document. The validator refuses a repeated id. */
function withoutIds(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value)));
}

function formats(ajv: Ajv2020): Ajv2020 {
  addFormats.default(ajv);
  const { validate: isDateTime } = ajv.formats['date-time'] as { validate: (text: string) => boolean };
  ajv.addFormat('date-time', (text: string) => isDateTime(text) && isStorable(text));
  // These keywords serve the documents alone.
  ajv.addVocabulary(['example', 'discriminator', 'xml', 'externalDocs']);
  return ajv;
}

/** Events hold times in UTC with years of four digits, and no leap seconds. The format alone also takes zones without minutes. */
function isStorable(time: string): boolean {
  const moment = new Date(time);
  return !Number.isNaN(moment.getTime()) && moment.getUTCFullYear() >= 0 && moment.getUTCFullYear() <= 9999;
}

function run(validate: ValidateFunction, place: Place, value: unknown): Problem[] {
  if (validate(value)) return [];
  const errors = validate.errors ?? [];
  const problems = withoutNoise(errors).map((error) => toProblem(error, place, value));
  return problems.slice(0, MAX_PROBLEMS);
}

/**
 * For a union the validator reports the errors of every branch. When the value matches the type of one branch, only that branch's
 * errors help the client; otherwise only the error of the union does.
 */
function withoutNoise(errors: readonly ErrorObject[]): ErrorObject[] {
  let kept = [...errors];
  for (const union of errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')) {
    const isBranch = (error: ErrorObject) => error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`);
    const isTypeOnly = (error: ErrorObject) => error.keyword === 'type' && error.instancePath === union.instancePath;
    const deeper = kept.some((error) => isBranch(error) && !isTypeOnly(error));
    kept = kept.filter((error) =>
      deeper ? error !== union && !(isBranch(error) && isTypeOnly(error)) : !isBranch(error),
    );
  }
  return kept;
}

function toProblem(error: ErrorObject, place: Place, value: unknown): Problem {
  const loc = [place, ...steps(error.instancePath, value)];
  const { missingProperty, additionalProperty, type, allowedValues, allowedValue } = error.params;
  switch (error.keyword) {
    case 'required':
      return { loc: [...loc, missingProperty], msg: 'is required', type: 'missing' };
    case 'additionalProperties':
      return { loc: [...loc, additionalProperty], msg: unexpected(error), type: 'unexpected' };
    case 'type':
      return { loc, msg: `must be ${[type].flat().join(' or ')}`, type: `${[type].flat().join('_or_')}_type` };
    case 'enum':
      return { loc, msg: `must be one of ${allowedValues.join(', ')}`, type: 'enum' };
    case 'const':
      return { loc, msg: `must be ${JSON.stringify(allowedValue)}`, type: 'const' };
    case 'anyOf':
    case 'oneOf':
      return { loc, msg: `must be ${alternatives(error)}`, type: 'union' };
    default:
      return { loc, msg: messageOf(error), type: error.keyword };
  }
}

function unexpected(error: ErrorObject): string {
  const known = Object.keys((error.parentSchema as TObject | undefined)?.properties ?? {});
  return known.length === 0 ? 'unknown field' : `unknown field; allowed: ${known.join(', ')}`;
}

function alternatives(error: ErrorObject): string {
  const words = (error.schema as { type?: string; const?: unknown }[]).map(
    (one) => one.type ?? JSON.stringify(one.const),
  );
  return words.includes(undefined as never) ? 'one of the documented forms' : words.join(' or ');
}

/** Splits a JSON pointer into names and indexes. The value tells whether a number is an index. */
function steps(pointer: string, value: unknown): (string | number)[] {
  let at = value;
  return pointer
    .split('/')
    .slice(1)
    .map((escaped) => {
      const name = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
      const step = Array.isArray(at) ? Number(name) : name;
      at = (at as Record<string, unknown> | null)?.[name];
      return step;
    });
}
