// Times in requests: whatever the service takes, it can write into an event.
import test from 'ava';
import { compile } from '../../../../events/event-validation.ts';
import { Type } from '../../../../events/schema.ts';
import { openValidation } from '../../../../http/frame/input/validation.ts';

const Body = Type.Object({ at: Type.String({ format: 'date-time' }) });
const check = openValidation().compile('body', Body);
const fitsEvent = compile(Body);

for (const at of [
  ...['2026-01-31T10:00:00Z', '2026-01-31T10:00:00.123456789+01:00', '2026-01-31t10:00:00z', '2024-02-29 10:00:00Z'],
  ...['0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '2026-01-31T10:00:00+0100'],
]) {
  test(`the service takes the time ${at}, and an event holds it`, (t) => {
    t.deepEqual(check({ at }), []);
    t.is(fitsEvent({ at: new Date(at).toISOString() }), null);
  });
}

for (const at of [
  ...['2016-12-31T23:59:60Z', '2026-01-01T00:00:00+01', '0000-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'],
  ...['2026-02-30T00:00:00Z', '2026-01-01T00:00:00', 'yesterday'],
]) {
  test(`the service refuses the time ${at}`, (t) => {
    t.like(check({ at }), [{ loc: ['body', 'at'] }]);
  });
}
