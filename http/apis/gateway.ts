// The gateway: the API of the console and of administrators.

import type { Api } from '../frame/api.ts';
import { ValidationError } from '../frame/errors.ts';
import { COMMON, LICENSE, PROBLEM, PROBLEMS, TAGS, text, VERSION, WEBHOOK_CALLBACKS } from '../openapi/conventions.ts';

const DESCRIPTION = `The API of the console: jobs from files, their results, exports and shares, credits and API keys, and the administrators'
lists. Other programs use the public API, \`/api/v2/openapi.json\`.
${COMMON}

## Errors

An error is \`{"detail": "...", "code": "..."}\`: people read \`detail\`, programs decide on \`code\`. A request that breaks its schema gets 422,
with a list of problems in \`detail\`, such as \`{"loc": ["query", "limit"], "msg": "must be at most 1000", "type": "maximum"}\`.

## Lists

A list takes \`limit\` and \`offset\`, and answers with the \`items\` of one page and the \`total\` over all pages.`;

const error_schemas = {
  ApiError: {
    type: 'object',
    required: ['detail', 'code'],
    properties: {
      detail: { ...text, description: 'A sentence for people: what is wrong, and what to do.' },
      code: { ...text, description: 'A code for programs.' },
      details: { description: 'Further facts for programs; absent when the code has none.' },
    },
  },
  ValidationError: PROBLEM,
  HTTPValidationError: { type: 'object', required: ['detail'], properties: { detail: PROBLEMS } },
};

export const GATEWAY: Api = {
  prefix: '',
  credentials: 'token',
  errorBody(error) {
    const { code, message, details } = error;
    if (error instanceof ValidationError) return { detail: error.problems };
    return { detail: message, code, ...(details === undefined ? {} : { details }) };
  },
  description: {
    title: 'URL checking service: gateway',
    version: VERSION,
    summary: 'The API of the console and of administrators.',
    description: DESCRIPTION,
    license: LICENSE,
    tags: TAGS,
    callbacks: WEBHOOK_CALLBACKS,
    error_schemas,
  },
};
