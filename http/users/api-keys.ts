// The gateway's API keys: a user creates, lists and revokes them.
import {
  idOfKey,
  MAX_KEYS,
  NO_SUCH_KEY,
  newApiKey,
  openApiKeys,
  TOO_MANY_KEYS,
} from '../../commands/users/api-keys.ts';
import { KEY_SCOPE_NAMES } from '../../events/api-key.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { SANDBOX_HOST } from '../../events/test-user.ts';
import { type ApiKeyDocument, apiKeys } from '../../readmodels/users/api-keys.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { SCOPE_MEANINGS } from '../callers/scopes.ts';
import { accepted, ValidationError } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { asThrown, routeOf } from '../frame/route.ts';
import { pick, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';

const wire = ({ log, read }: Parts) => ({
  commands: openApiKeys(log),
  read: read({ apiKeys }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'account');

const KeyView = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    prefix: Type.String({ description: 'The first characters of the key.' }),
    created_at: Time(),
    scopes: Type.Array(Type.Enum(KEY_SCOPE_NAMES, { $id: 'KeyScope' }), {
      description: `What the key may do. ${SCOPE_MEANINGS}.`,
    }),
    expires_at: Nullable(Time('From then on the key is not valid; null for a key without an end.')),
    test: Type.Boolean({ description: 'Whether the key checks the sandbox alone, at no cost.' }),
    last_used_at: Nullable(Time('Exact to the hour. Null when nobody has used the key.')),
    credit_limit: Nullable(
      Type.Integer({
        minimum: 1,
        description: 'The most credits that all jobs of the key together may use; null without a limit.',
      }),
    ),
    credits_used: Nullable(
      Type.Integer({
        minimum: 0,
        description: 'The credits that jobs have used of the limit, without refunds; null without a limit.',
      }),
    ),
  },
  { $id: 'ApiKey' },
);
const example = {
  id: '3f0c9a1be5d24c7f8a6b0d9e1c2f3a4b',
  name: 'nightly',
  prefix: 'uc_live_Jx2a',
  created_at: '2026-01-31T09:00:00.000Z',
  scopes: ['read', 'check'],
  expires_at: '2026-04-30T00:00:00.000Z',
  test: false,
  last_used_at: '2026-01-31T10:00:00.000Z',
  credit_limit: 5000,
  credits_used: 1200,
};

const KEPT = ['name', 'prefix', 'created_at', 'last_used_at'] as const;
type Shown = '_id' | 'scopes' | 'expires_at' | 'is_test' | 'credit_limit' | 'credits_used' | (typeof KEPT)[number];
const keyView = (key: Pick<ApiKeyDocument, Shown>) => ({
  id: key._id,
  ...pick(key, KEPT),
  scopes: [...(key.scopes ?? KEY_SCOPE_NAMES)],
  expires_at: key.expires_at ?? null,
  test: key.is_test ?? false,
  credit_limit: key.credit_limit ?? null,
  credits_used: key.credit_limit === undefined ? null : (key.credits_used ?? 0),
});

const create = route({
  id: 'createApiKey',
  method: 'POST',
  path: '/users/me/api-keys',
  access: 'user',
  summary: 'Create an API key',
  description: 'Only this answer shows the key: the service keeps its hash alone.',
  body: jsonBody(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 100, default: 'default' }),
      scopes: Type.Optional(
        Type.Array(Type.Enum(KEY_SCOPE_NAMES, { type: 'string' }), {
          minItems: 1,
          maxItems: KEY_SCOPE_NAMES.length,
          uniqueItems: true,
          description: `What the key may do; without it, everything. ${SCOPE_MEANINGS}.`,
        }),
      ),
      expires_at: Type.Optional(
        Type.String({
          format: 'date-time',
          description: 'The end of the key, in the future. Without it, the key has none.',
        }),
      ),
      test: Type.Boolean({
        default: false,
        description: `Makes a key that checks URLs of http://${SANDBOX_HOST} alone, at no cost, and sees nothing that other keys made.`,
      }),
      credit_limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000_000,
          description: 'The most credits that all jobs of the key together may use. A job that needs more is refused.',
        }),
      ),
    }),
    {
      optional: true,
      example: {
        name: 'nightly',
        scopes: ['read', 'check'],
        expires_at: '2026-04-30T00:00:00.000Z',
        credit_limit: 5000,
      },
    },
  ),
  responses: {
    201: {
      description: 'The key.',
      schema: Type.Object({ ...KeyView.properties, key: Type.String({ description: 'Only this answer shows it.' }) }),
      example: {
        ...example,
        last_used_at: null,
        credits_used: 0,
        key: 'uc_live_Jx2aQ9Ff0n8kVg4N7rJt2o6pYzXwLqSMcbHdUaKiR3E',
      },
    },
  },
  makes: {
    secrets: ['key'],
    restore: (body, { secret }) => ({ ...body, key: newApiKey(secret('api key'), (body as { test?: boolean }).test) }),
  },
  errors: {
    409: asThrown(`You have ${MAX_KEYS} keys already.`, TOO_MANY_KEYS),
  },
  async handler(request, { commands }) {
    const { caller, body } = request;
    const plaintext = newApiKey(request.secret('api key'), body.test);
    const context = request.command();
    const { user_id, email } = caller;
    const { name, scopes, credit_limit } = body;
    const expires_at = body.expires_at && new Date(body.expires_at).toISOString();
    if (expires_at !== undefined && Date.parse(expires_at) <= context.now) {
      throw new ValidationError([{ loc: ['body', 'expires_at'], msg: 'must be in the future', type: 'past' }]);
    }
    const limits = {
      ...(scopes && { scopes }),
      ...(expires_at && { expires_at }),
      ...(credit_limit && { credit_limit }),
      ...(body.test && { is_test: true }),
    };
    const created = accepted(await commands.create({ plaintext, user_id, email, name, ...limits }, context), 409);
    const created_at = new Date(context.now).toISOString();
    const document = { _id: idOfKey(plaintext), name, ...limits, prefix: plaintext.slice(0, 12), created_at };
    const view = keyView({ ...document, last_used_at: null });
    return { status: 201, body: { ...view, key: plaintext }, position: created.position };
  },
});

const list = route({
  id: 'listApiKeys',
  method: 'GET',
  path: '/users/me/api-keys',
  access: 'user',
  summary: 'List your API keys, the newest first',
  responses: {
    200: {
      description: 'The keys, without revoked ones.',
      schema: Type.Object({ items: Type.Array(KeyView), total: Type.Integer() }),
      example: { items: [example], total: 1 },
    },
  },
  async handler({ caller }, { read }) {
    const where = { user_id: caller.user_id, revoked_at: null };
    const keys = await read.apiKeys.find(where, { sort: { created_at: -1 }, limit: MAX_KEYS });
    return { body: { items: keys.map(keyView), total: keys.length } };
  },
});

const revoke = route({
  id: 'revokeApiKey',
  method: 'DELETE',
  path: '/users/me/api-keys/{id}',
  access: 'user',
  summary: 'Revoke an API key',
  responses: { 204: { description: 'The key no longer works.' } },
  errors: {
    404: asThrown('You have no such key.', NO_SUCH_KEY),
  },
  async handler(request, { commands }) {
    const { caller, params } = request;
    const revoked = accepted(
      await commands.revoke({ key_id: params.id, user_id: caller.user_id }, request.command()),
      404,
    );
    return { status: 204, position: revoked.position };
  },
});

export const group = groupOf(wire, [create, list, revoke]);
