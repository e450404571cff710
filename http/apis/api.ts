// An API: routes under one prefix, with one way to know callers, one shape of errors, and one document that describes them.
import type { TSchema } from '../../events/schema.ts';
import type { HttpError } from '../errors.ts';
import type { Json } from '../openapi/components.ts';

export interface Api {
  /** Before the path of each of its routes. */
  prefix: string;
  /** What callers show: a token of the identity provider, or an API key. */
  credentials: 'token' | 'api-key';
  /** Whether the requests of each caller are counted and limited. */
  is_rate_limited: boolean;
  /** The body of an error. */
  errorBody(error: HttpError): object;
  /** What its OpenAPI document says besides its routes. */
  description: Description;
}

export interface Description {
  title: string;
  version: string;
  summary?: string;
  description?: string;
  license?: { name: string; identifier: string };
  /** What each tag stands for; those of the routes are in the document, in this order. */
  tags?: Readonly<Record<string, string>>;
  webhooks?: Readonly<Record<string, Webhook>>;
  /** The schemas of errors: `Error`, `ValidationError` and `HTTPValidationError`. */
  error_schemas: Readonly<Record<string, Json>>;
}

/** What the service sends to those who asked for it. */
export interface Webhook {
  operation: Json;
  body: { schema: TSchema; example: unknown };
}
