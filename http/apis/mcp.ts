// The interface for agents, by the Model Context Protocol. Its errors are JSON-RPC's; what a tool refuses is the tool's result instead.

import type { Api } from '../frame/api.ts';
import { type HttpError, ValidationError } from '../frame/errors.ts';
import { LICENSE, VERSION } from '../openapi/conventions.ts';

/** JSON-RPC 2.0, 5.1; the last is the first of those that servers may define. */
const [PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INTERNAL_ERROR, REFUSED] = [
  -32700, -32600, -32601, -32603, -32000,
];

function codeOf({ status, code }: HttpError): number {
  if (code === 'invalid_json') return PARSE_ERROR;
  if (code === 'method_not_found') return NO_SUCH_METHOD;
  if (status === 422 || status === 400) return INVALID_REQUEST;
  return status === 500 ? INTERNAL_ERROR : REFUSED;
}

export const MCP: Api = {
  prefix: '',
  credentials: 'either',
  errorBody(error) {
    const problems = error instanceof ValidationError ? { problems: error.problems } : {};
    const data = { code: error.code, ...error.details, ...problems };
    return { jsonrpc: '2.0', id: null, error: { code: codeOf(error), message: error.message, data } };
  },
  description: { title: 'URL checking service: MCP', version: VERSION, license: LICENSE, error_schemas: {} },
};
