// An API: routes under one prefix that share a kind of credentials, a shape of errors and an OpenAPI document.
import type { TSchema } from '../../events/schema.ts';
import type { Json } from './document-parts.ts';
import type { HttpError } from './errors.ts';

export interface Api {
  /** The start of each route's path. */
  prefix: string;
  /** Callers send a token of the identity provider, an API key, or one of both. */
  credentials: 'token' | 'api-key' | 'either';
  /** The JSON body of an error answer. */
  errorBody(error: HttpError): object;
  /** The parts of the OpenAPI document that do not come from routes. */
  description: Description;
}

export interface Description {
  title: string;
  version: string;
  summary?: string;
  description?: string;
  license?: { name: string; identifier: string };
  /** The meaning of each tag. The document lists the tags that its routes use, in this order. */
  tags?: Readonly<Record<string, string>>;
  /**
   * The requests that the service sends, by event type, and the operation that asks for them. They are its callbacks: generators make
   * code of a document's `webhooks`, some of which does not load, and types of its callbacks.
   */
  callbacks?: { of: string; url: string; requests: Readonly<Record<string, Webhook>> };
  /** The schemas of errors: `ApiError`, `ValidationError` and `HTTPValidationError`. */
  error_schemas: Readonly<Record<string, Json>>;
}

/** A request that the service sends to the endpoints of users. */
export interface Webhook {
  operation: Json;
  body: { schema: TSchema; example: unknown };
}
