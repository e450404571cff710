// Holding requests to the schemas of their route, and saying what is wrong with them and where.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { TObject, TSchema } from '../events/schema.ts';
import type { Problem } from './errors.ts';

/** More than this many would help nobody. */
const MAX_PROBLEMS = 50;
/** In a larger body only the first problem is looked for: 30,000 wrong values take a tenth of a second to complain of. */
const ALL_PROBLEMS_BYTES = 16 * 1024;

type Place = 'body' | 'query' | 'path' | 'header';

/** Fills in defaults in place; the problems that it finds, none when the value is right. */
export type Check = (value: unknown, size_bytes?: number) => Problem[];

const OPTIONS = {
  ...{ strict: true, strictTypes: false, strictRequired: false, useDefaults: true, verbose: true },
  // The checks of the schemas themselves cost 50 ms; lint holds the documents, which have the same schemas, to OpenAPI.
  ...{ validateSchema: false, meta: false },
} as const;

export interface Validation {
  /** The check compiles the schema at its first use. */
  compile(place: Place, schema: TSchema): Check;
}

export function openValidation(): Validation {
  const thorough = formats(new Ajv2020({ ...OPTIONS, allErrors: true }));
  const brief = formats(new Ajv2020(OPTIONS));
  return {
    compile(place, schema) {
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

/** Why no field takes the text, or null. Stores and logs do not agree on what a NUL or half of a surrogate pair means. */
export function textProblem(text: string): Pick<Problem, 'msg' | 'type'> | null {
  if (text.includes('\0')) return { msg: 'holds a NUL character', type: 'nul' };
  return text.isWellFormed() ? null : { msg: 'holds half of a surrogate pair', type: 'surrogate' };
}

/** The first text in the value, or name of a field, that no field takes; the value is of bounded depth. */
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

/** `$id` names a component of the OpenAPI document; to a validator, the same id twice is an error. */
function withoutIds(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value)));
}

function formats(ajv: Ajv2020): Ajv2020 {
  addFormats.default(ajv);
  // What documents say beyond validation.
  ajv.addVocabulary(['example', 'discriminator', 'xml', 'externalDocs']);
  return ajv;
}

function run(validate: ValidateFunction, place: Place, value: unknown): Problem[] {
  if (validate(value)) return [];
  const errors = validate.errors ?? [];
  const problems = withoutNoise(errors).map((error) => toProblem(error, place, value));
  return problems.slice(0, MAX_PROBLEMS);
}

/**
 * Of a value that may have one of several schemas, the validator reports what is wrong by each of them. Where one of
 * them got further than the type, its problems are what the client wants to know; else the union as a whole is.
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
      return { loc, msg: error.message ?? 'is not valid', type: error.keyword };
  }
}

function unexpected(error: ErrorObject): string {
  const known = Object.keys((error.parentSchema as TObject | undefined)?.properties ?? {});
  return known.length === 0 ? 'is not known here' : `is not known here; known are ${known.join(', ')}`;
}

function alternatives(error: ErrorObject): string {
  const words = (error.schema as { type?: string; const?: unknown }[]).map(
    (one) => one.type ?? JSON.stringify(one.const),
  );
  return words.includes(undefined as never) ? 'one of the forms that are described' : words.join(' or ');
}

/** A JSON pointer as names and indexes: which a digit is, the value tells. */
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
