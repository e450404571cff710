// The kinds of request bodies that a route can declare, and what its handler gets of each.
import { type TSchema, Type } from '../events/schema.ts';
import { closedInput } from './input/input-schemas.ts';

/** An uploaded file, which stays on disk until the handler returns. */
export interface UploadedFile {
  path: string;
  /** The name that the client gave; never a path to open. */
  filename: string | null;
  size_bytes: number;
  /** Of the content, in hex. */
  sha256: string;
}

export interface JsonBody<Schema extends TSchema = TSchema, Optional extends boolean = boolean> {
  kind: 'json';
  schema: Schema;
  limit_bytes: number;
  /** Whether an absent body is read as `{}`. */
  optional: Optional;
  example?: unknown;
}
export interface FileBody {
  kind: 'file';
  description: string;
}
export interface RawBody {
  kind: 'raw';
  limit_bytes: number;
  example?: unknown;
}
/** A JSON object with one long list of strings. The frame reads it as a stream and never holds all of it in memory. */
export interface ListBody {
  kind: 'list';
  field: string;
  /** The most strings in the list, and the most characters in each. */
  max_items?: number;
  max_chars?: number;
  schema: TSchema;
  limit_bytes: number;
  example?: unknown;
}
export type Body = JsonBody | FileBody | RawBody | ListBody;

/** The list as its handler reads it, until the handler returns. */
export interface StringList {
  length: number;
  size_bytes: number;
  /** SHA-256 of the strings in their order, in hex: white space and escapes of the JSON make no difference. */
  readonly fingerprint: string;
  /** The strings in order, a thousand at a time. */
  pages(): AsyncIterable<string[]>;
  /** Frees the strings early, for a handler that goes on for long without them. */
  release(): Promise<void>;
}

/** The default limit of a JSON body, small enough that parsing hardly blocks the event loop. */
const SMALL_BODY_BYTES = 64 * 1024;

/**
 * A JSON body. The service refuses fields that the schema does not name, unless it says `additionalProperties: true`.
 * @example body: jsonBody(Type.Object({ name: Type.String() }), { example: { name: 'nightly' } })
 */
export function jsonBody<Schema extends TSchema>(
  schema: Schema,
  options: { limit_bytes?: number; optional?: boolean; example?: unknown } = {},
): JsonBody<Schema> {
  return { kind: 'json', schema: closedInput(schema), limit_bytes: SMALL_BODY_BYTES, optional: false, ...options };
}

/**
 * The JSON object `{"<field>": ["…", …]}` with at least one string and no other field.
 * `name` names its schema in the OpenAPI document.
 * @example body: listBody('urls', { limit_bytes: 128 * 1024 * 1024, name: 'NewJob' })
 */
export function listBody(
  field: string,
  options: { limit_bytes: number; max_items?: number; max_chars?: number; name?: string; example?: unknown },
): ListBody {
  const { name, ...limits } = options;
  const { max_items: maxItems, max_chars: maxLength } = limits;
  const text = Type.String(maxLength === undefined ? {} : { maxLength });
  const list = Type.Array(text, { minItems: 1, ...(maxItems === undefined ? {} : { maxItems }) });
  const schema = Type.Object({ [field]: list }, name === undefined ? {} : { $id: name });
  return { kind: 'list', field, schema: closedInput(schema), ...limits };
}

/** A form with one file, of at most `max_file_bytes`. */
export const fileBody = (description: string): FileBody => ({ kind: 'file', description });

/** The raw bytes of the body, for signatures. The default limit is 1 MiB. */
export const rawBody = (options: { limit_bytes?: number; example?: unknown } = {}): RawBody => ({
  kind: 'raw',
  limit_bytes: 1024 * 1024,
  ...options,
});
