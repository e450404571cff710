// Node's http module without an `import` of `node:http`: it would read each of that module's exports, and some of
// them load `fetch`, which costs a start 45 ms and 5 MB.
import type * as http from 'node:http';

export const { createServer, IncomingMessage, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
export type IncomingMessage = http.IncomingMessage;
export type ServerResponse = http.ServerResponse;
