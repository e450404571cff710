// What serves one message: who asks, what their client can do, and how operations answer it.
import type * as Sdk from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { jsonPieces } from '../frame/answers/json-pieces.ts';
import { JsonText } from '../frame/answers/json-text.ts';
import { type HttpError, toHttpError } from '../frame/errors.ts';
import type { Reply, RouteRequest } from '../frame/route.ts';
import type { Asking, ToolResult } from './tools.ts';

export const TASKS = 'io.modelcontextprotocol/tasks';

/** What is needed of the request that brought the message. */
export interface Brought extends Pick<RouteRequest, 'ask' | 'request_id' | 'signal'> {
  /** Where credits can be bought; null where none are sold. */
  buy_url: string | null;
  log: Pick<Logger, 'warn' | 'error'>;
}

/** What a tool is given, and whether the client can show its user a page. */
export interface Client extends Asking {
  opens_urls: boolean;
}

export class Serving {
  readonly sdk: typeof Sdk;
  readonly #brought: Brought;

  constructor(sdk: typeof Sdk, brought: Brought) {
    this.sdk = sdk;
    this.#brought = brought;
  }

  /** Clients say what they can with each message; in the protocol of 2025 a server would have to remember it. */
  clientOf({ mcpReq }: Sdk.ServerContext): Client {
    const { ask, buy_url } = this.#brought;
    const envelope = mcpReq.envelope as Record<string, unknown> | undefined;
    const can = envelope?.[this.sdk.CLIENT_CAPABILITIES_META_KEY] as Sdk.ClientCapabilities | undefined;
    return {
      ask: async (operation, asked) => await jsonOf(await ask(operation, asked)),
      buy_url,
      takes_tasks: can?.extensions?.[TASKS] !== undefined,
      opens_urls: can?.elicitation?.url !== undefined,
    };
  }

  /** The error as clients of the API get it. */
  errorOf(thrown: unknown): HttpError {
    const { request_id, signal, log } = this.#brought;
    const error = toHttpError(thrown, request_id);
    const is_fault = error !== thrown && !signal.aborted;
    if (is_fault) log[error.status === 503 ? 'warn' : 'error']({ err: thrown, request_id }, 'request failed');
    return error;
  }
}

export const succeeded = ({ structured, text }: ToolResult) => ({
  content: [{ type: 'text' as const, text }],
  structuredContent: structured as Record<string, unknown>,
});

async function jsonOf({ body }: Reply): Promise<unknown> {
  if (body instanceof JsonText) return body.toJSON();
  return JSON.parse(Buffer.concat(await Array.fromAsync(jsonPieces(body as object))).toString());
}
