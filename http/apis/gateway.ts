// The gateway: the API of the console and of administrators.
import { ValidationError } from '../errors.ts';
import { COMMON, LICENSE, PROBLEM, PROBLEMS, TAGS, text, VERSION } from '../openapi/conventions.ts';
import type { Api } from './api.ts';

const DESCRIPTION = `The API of the console: jobs from files, their results, exports and shares, credits and API keys, and the administrators'
lists. Programs of others use the public API, \`/api/v2/openapi.json\`.
${COMMON}

## Errors

\`{"detail": "...", "code": "..."}\`: a sentence for people and a word for programs. A request that is not as described is 422, with a
list in \`detail\`: \`{"loc": ["query", "limit"], "msg": "must be <= 1000", "type": "maximum"}\` each.

## Lists

\`limit\` and \`offset\`, answered with \`items\` and the \`total\` over all pages.`;

const error_schemas = {
  Error: {
    type: 'object',
    required: ['detail', 'code'],
    properties: {
      detail: { ...text, description: 'What is wrong and what to do, for people.' },
      code: { ...text, description: 'A word for programs.' },
      details: { description: 'More, where there is more to say.' },
    },
  },
  ValidationError: PROBLEM,
  HTTPValidationError: { type: 'object', required: ['detail'], properties: { detail: PROBLEMS } },
};

export const GATEWAY: Api = {
  prefix: '',
  credentials: 'token',
  is_rate_limited: false,
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
    error_schemas,
  },
};
