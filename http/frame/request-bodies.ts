// The kinds of request bodies that a route can declare, and what its handler gets of each.
import type { ListItem } from '../../commands/jobs/intake.ts';
import { type TProperties, type TSchema, Type } from '../../events/schema.ts';
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
/** A JSON object with one long list. The frame reads it as a stream and never holds all of it in memory. */
export interface ListBody<Others extends TProperties = TProperties> {
  kind: 'list';
  field: string;
  /** The most strings in the list, and the most characters in each. */
  max_items?: number;
  max_chars?: number;
  /** The field that takes the list as objects `{url, ref}` in its place, and the longest `ref`. */
  with_refs?: { field: string; max_ref_chars: number };
  /** The other fields, which are small. */
  others: Others;
  schema: TSchema;
  limit_bytes: number;
  example?: unknown;
}
export type Body = JsonBody | FileBody | RawBody | ListBody;

/** The list as its handler reads it, until the handler returns. */
export interface StringList<Others = unknown> {
  /** The name of the list. */
  field: string;
  length: number;
  size_bytes: number;
  /** SHA-256 of the items in their order and of the other fields, in hex: white space and escapes of the JSON make no difference. */
  readonly fingerprint: string;
  /** The other fields. */
  others: Others;
  /** The items in order, a thousand at a time. */
  pages(): AsyncIterable<ListItem[]>;
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
 * The JSON object `{"<field>": ["…", …]}` with at least one item and the fields of `others`. With `with_refs`, exactly one of its field and
 * `field` is given: the schema leaves both optional, because generators turn a schema that says so into a union type. `name` names the schema
 * in the OpenAPI document.
 * @example body: listBody('urls', { limit_bytes: 128 * 1024 * 1024, name: 'NewJob' })
 */
export function listBody<const Others extends TProperties = Record<never, never>>(
  field: string,
  options: Pick<ListBody, 'limit_bytes' | 'max_items' | 'max_chars' | 'with_refs' | 'example'> & {
    name?: string;
    others?: Others;
  },
): ListBody<Others> {
  const { name, others = {} as Others, ...limits } = options;
  const { max_items: maxItems, max_chars: maxLength, with_refs } = limits;
  const text = Type.String(maxLength === undefined ? {} : { maxLength });
  const listOf = (item: TSchema, description?: string) =>
    Type.Array(item, { minItems: 1, ...(maxItems !== undefined && { maxItems }), ...(description && { description }) });
  const lists: TProperties =
    with_refs === undefined
      ? { [field]: listOf(text) }
      : {
          [field]: Type.Optional(listOf(text, `Give either this or \`${with_refs.field}\`.`)),
          [with_refs.field]: Type.Optional(
            listOf(withRef(text, with_refs.max_ref_chars), `In place of \`${field}\`, to name each URL.`),
          ),
        };
  const schema = Type.Object({ ...lists, ...others }, name === undefined ? {} : { $id: name });
  return { kind: 'list', field, others, schema: closedInput(schema), ...limits };
}

const withRef = (url: TSchema, maxLength: number) =>
  Type.Object(
    {
      url,
      ref: Type.Optional(
        Type.String({ minLength: 1, maxLength, description: 'Your own name for the URL, which its result repeats.' }),
      ),
    },
    { $id: 'UrlWithRef' },
  );

/** A form with one file, of at most `max_file_bytes`. */
export const fileBody = (description: string): FileBody => ({ kind: 'file', description });

/** The raw bytes of the body, for signatures. The default limit is 1 MiB. */
export const rawBody = (options: { limit_bytes?: number; example?: unknown } = {}): RawBody => ({
  kind: 'raw',
  limit_bytes: 1024 * 1024,
  ...options,
});
