// The errors of MongoDB's driver: the adapter distinguishes faults of a document from faults of the server.
import test from 'ava';
import { MongoInvalidArgumentError, MongoNetworkError, MongoServerError } from 'mongodb';
import { portError } from '../../../adapters/documents/mongodb/errors.ts';
import { isFaultOfEvent } from '../../../projections/projector/take-events.ts';

const REFUSALS: Record<string, unknown> = {
  'a bad value': new MongoServerError({ message: 'BadValue', code: 2 }),
  'a document that its validator refuses': new MongoServerError({ message: 'DocumentValidationFailure', code: 121 }),
  'a document that is too large': new MongoServerError({ message: 'BSONObjectTooLarge', code: 10334 }),
  'what the driver does not send': new MongoInvalidArgumentError('Update document requires atomic operators'),
};
for (const [what, error] of Object.entries(REFUSALS)) {
  test(`${what} counts as unsupported, which no retry fixes`, (t) => {
    const refused = portError(error) as Error & { code?: unknown };
    t.is(refused.code, 'unsupported_query');
    t.is(refused.cause, error);
    t.true(isFaultOfEvent(refused));
  });
}

const FAULTS: Record<string, [code: number, port_code: unknown]> = {
  'a server that steps down': [189, 'unavailable'],
  'a write that another transaction made first': [112, 'write_conflict'],
  'a full disk': [14031, 'storage_full'],
  'a right that is lacking': [13, 13],
  'a sign-in that fails': [18, 18],
};
for (const [what, [code, port_code]] of Object.entries(FAULTS)) {
  test(`${what} counts as the store's fault, for which no event is parked`, (t) => {
    const error = portError(new MongoServerError({ message: what, code })) as { code?: unknown };
    t.is(error.code, port_code);
    t.false(isFaultOfEvent(error));
  });
}

test('every error of the network counts as a server that is away, also one that the driver does not export', (t) => {
  class PoolClearedOnNetworkError extends MongoNetworkError {
    override get name(): string {
      return 'PoolClearedOnNetworkError';
    }
  }
  const ended = Object.assign(new Error('This socket has been ended by the other party'), { code: 'EPIPE' });
  for (const error of [
    ended,
    new MongoNetworkError('reset'),
    new PoolClearedOnNetworkError('no answer to the monitor'),
  ])
    t.is((portError(error) as { code?: unknown }).code, 'unavailable');
});
