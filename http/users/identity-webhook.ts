// The webhook of the identity provider: it tells of users who were created, changed and deleted.

import { Webhook } from 'standardwebhooks';
import { notRefused } from '../../commands/aggregate.ts';
import { inWords, Nullable, type Static, Type } from '../../events/schema.ts';
import { isTestUser } from '../../events/test-user.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { closed, wrongSignature } from '../callers/access.ts';
import { usableAddress, usableName } from '../callers/identity.ts';
import { ValidationError } from '../frame/errors.ts';
import { notJson, parseJson } from '../frame/input/bodies.ts';
import { openValidation } from '../frame/input/validation.ts';
import { rawBody } from '../frame/request-bodies.ts';
import { routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';

const MAX_BYTES = 128 * 1024;
/** As Standard Webhooks say. */
const SIGNED_WITHIN_S = 300;

const wire = ({ accounts, config: { identity_webhook_secret: secret } }: Parts) => ({
  accounts,
  webhook: secret === null ? null : new Webhook(secret),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'inbound');

/** The parts of a message that the service reads. Messages of other types may have any other data. */
const Message = Type.Object({ type: Type.String() });
/** Milliseconds or seconds since 1970, or text in the format of RFC 3339. */
const LAST_MS = Date.UTC(9999, 11, 31);
const Moment = Type.Union([Type.Integer({ minimum: 0, maximum: LAST_MS }), Type.String({ format: 'date-time' })]);
const user_id = Type.String({
  pattern: inWords('^[\\x21-\\x7e]{1,200}$', 'must have 1 to 200 characters, without spaces'),
});
const Address = Type.Object({
  id: Type.Optional(Type.String()),
  email_address: Type.String(),
  verification: Type.Optional(Nullable(Type.Object({ status: Type.Optional(Type.String()) }))),
});
const Changed = Type.Object({
  type: Type.String(),
  /** The time of the message, where the user has none. */
  timestamp: Type.Optional(Moment),
  data: Type.Object({
    id: user_id,
    updated_at: Type.Optional(Moment),
    email: Type.Optional(Nullable(Type.String())),
    email_verified: Type.Optional(Type.Boolean()),
    email_addresses: Type.Optional(Type.Array(Address)),
    primary_email_address_id: Type.Optional(Nullable(Type.String())),
    name: Type.Optional(Nullable(Type.String())),
    first_name: Type.Optional(Nullable(Type.String())),
    last_name: Type.Optional(Nullable(Type.String())),
  }),
});
const Deleted = Type.Object({ type: Type.String(), data: Type.Object({ id: user_id }) });
type Changed = Static<typeof Changed>;

const validation = openValidation();
const check = {
  message: validation.compile('body', Message),
  changed: validation.compile('body', Changed),
  deleted: validation.compile('body', Deleted),
};

const Id = Type.Optional(
  Type.String({ maxLength: 200, description: 'The id of the message.', examples: ['msg_2KWPBgLlAfxdpx2AI54pPJ85f4W'] }),
);
const Timestamp = Type.Optional(
  Type.String({ description: 'When it was sent, in seconds since 1970.', examples: ['1769850300'] }),
);
const Signature = Type.Optional(
  Type.String({
    description: '`v1,` and the signature of id, timestamp and body; several with spaces between.',
    examples: ['v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
  }),
);

const identityWebhook = route({
  id: 'receiveIdentityWebhook',
  method: 'POST',
  path: '/internal/identity-webhook',
  access: 'signature',
  summary: 'Receive an event of the identity provider',
  description:
    'The sender signs as Standard Webhooks or Svix say, with the secret of IDENTITY_WEBHOOK_SECRET. `user.created` and `user.updated` set ' +
    "the user's address and name, unless a later change is known; `user.deleted` erases the user. The service ignores messages of other types, and " +
    'repeated ones.',
  headers: Type.Object({
    ...{ 'webhook-id': Id, 'webhook-timestamp': Timestamp, 'webhook-signature': Signature },
    ...{ 'svix-id': Id, 'svix-timestamp': Timestamp, 'svix-signature': Signature },
  }),
  body: rawBody({
    limit_bytes: MAX_BYTES,
    example: { type: 'user.updated', data: { id: 'alice', email: 'alice@example.com', updated_at: 1769850300000 } },
  }),
  responses: { 204: { description: 'The service has the message.' } },
  errors: {
    400: {
      description:
        'The signature is right, but the service cannot read the body: it is not JSON, or not UTF-8, or nested too deep.',
      examples: { invalid_json: { message: notJson('it ends too early.').message } },
    },
  },
  early(header, { webhook }) {
    if (webhook === null) throw closed();
    const given = (name: string) => header(`webhook-${name}`) || header(`svix-${name}`);
    const age_s = Math.abs(Date.now() / 1000 - Number(given('timestamp') || Number.NaN));
    if (given('id') === '' || given('signature') === '' || !(age_s <= SIGNED_WITHIN_S)) throw wrongSignature();
  },
  async handler({ headers, body, command }, { accounts, webhook }) {
    if (webhook === null) throw closed();
    const message_id = headers['webhook-id'] ?? headers['svix-id'] ?? '';
    verify(webhook, body, {
      'webhook-id': message_id,
      'webhook-timestamp': headers['webhook-timestamp'] ?? headers['svix-timestamp'] ?? '',
      'webhook-signature': headers['webhook-signature'] ?? headers['svix-signature'] ?? '',
    });
    const message = held(parseJson(body), check.message) as Static<typeof Message>;
    switch (message.type) {
      case 'user.created':
      case 'user.updated': {
        const changed = held(message, check.changed) as Changed;
        // Nobody signs in with such an id, which is that of another user's test keys.
        if (isTestUser(changed.data.id)) return {};
        const report = reportOf(changed);
        const recorded = await accounts.report({ message_id, ...report }, command());
        // An erased user stays erased: the message was late.
        return recorded.ok ? { position: recorded.position } : {};
      }
      case 'user.deleted': {
        const { data } = held(message, check.deleted) as Static<typeof Deleted>;
        if (isTestUser(data.id)) return {};
        return { position: notRefused(await accounts.erase(data.id, command())).position };
      }
      default:
        return {};
    }
  },
});

/** Throws 401. */
function verify(webhook: Webhook, body: Buffer, headers: Record<string, string>): void {
  try {
    webhook.verify(body, headers, { jsonParse: false });
  } catch {
    throw wrongSignature();
  }
}

/** Returns the value; throws 422 when it is not as the check wants it. */
function held(value: unknown, check_of: (value: unknown) => ConstructorParameters<typeof ValidationError>[0]): unknown {
  const problems = check_of(value);
  if (problems.length > 0) throw new ValidationError(problems);
  return value;
}

function reportOf({ data, timestamp }: Changed) {
  const moment = data.updated_at ?? timestamp;
  if (moment === undefined) {
    throw new ValidationError([{ loc: ['body', 'data', 'updated_at'], msg: 'is required', type: 'missing' }]);
  }
  const updated_at = new Date(millisecondsOf(moment)).toISOString();
  return { user_id: data.id, email: emailOf(data), name: nameOf(data), updated_at };
}

/** Before this many milliseconds there were no webhooks, so a smaller number counts seconds. */
const FIRST_MS = 1e11;
const millisecondsOf = (moment: number | string): number | string =>
  typeof moment === 'number' && moment < FIRST_MS ? moment * 1000 : moment;

/** The address that the provider has verified; null for none, and for one that no mail could be sent to. */
function emailOf({ email, email_verified, email_addresses = [], primary_email_address_id }: Changed['data']) {
  if (typeof email === 'string') return email_verified === false ? null : usableAddress(email);
  const primary = email_addresses.find(({ id }) => id !== undefined && id === primary_email_address_id);
  const status = primary?.verification?.status ?? 'verified';
  return primary && status === 'verified' ? usableAddress(primary.email_address) : null;
}

const nameOf = ({ name, first_name, last_name }: Changed['data']) =>
  usableName(name ?? [first_name, last_name].filter(Boolean).join(' '));

export const group = groupOf(wire, [identityWebhook]);
