// Node's http module and the router, without an `import` of `node:http`: it would read each of that module's exports, and some of
// them load `fetch`, which costs a start 45 ms and 5 MB.
import type * as http from 'node:http';
import { createRequire } from 'node:module';

export const { createServer, IncomingMessage, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
export type IncomingMessage = http.IncomingMessage;
export type ServerResponse = http.ServerResponse;

/** The router's ES module imports `node:http`; its CommonJS one does not. */
export const { default: Router } = createRequire(import.meta.url)('@koa/router') as typeof import('@koa/router');
