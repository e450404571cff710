// Maintenance mode: its decisions, which requests of which routes it refuses, and how processes learn of it.
import test from 'ava';
import { Registry } from 'prom-client';
import { Value } from 'typebox/value';
import { decide, evolve, initial, openMaintenanceMode } from '../../../commands/maintenance.ts';
import { MAINTENANCE_EVENTS, type MaintenanceEvent } from '../../../events/service.ts';
import { ALL_ROUTES } from '../../../http/all-routes.ts';
import { type Maintenance, openMaintenance } from '../../../http/frame/maintenance.ts';
import type { Route } from '../../../http/frame/route.ts';
import { commandContext, openTestStores, silent } from '../../support/stores.ts';
import { API_KEY, startSample, until } from '../sample-app.ts';

const AT = Date.parse('2026-01-31T09:00:00.000Z');
const STARTED: MaintenanceEvent = {
  type: 'MaintenanceStarted',
  data: { message: 'We move.', started_at: '2026-01-31T09:00:00.000Z' },
};
const OTHER: MaintenanceEvent = { ...STARTED, data: { ...STARTED.data, message: 'We still move.' } };
const ENDED: MaintenanceEvent = { type: 'MaintenanceEnded', data: {} };
const given = (...events: MaintenanceEvent[]) => events.reduce(evolve, initial());
const start = (message: string, now = AT) => ({ type: 'start', message, now }) as const;

test('maintenance starts once, takes another message, and ends once', (t) => {
  t.deepEqual(decide(given(), start('We move.')), { events: [STARTED] });
  t.deepEqual(decide(given(STARTED), start('We move.', AT + 1)), { events: [] });
  t.deepEqual(decide(given(STARTED), start('We still move.', AT + 1)), { events: [OTHER] });
  t.deepEqual(decide(given(STARTED, OTHER), { type: 'end' }), { events: [ENDED] });
  t.deepEqual(decide(given(STARTED, ENDED), { type: 'end' }), { events: [] });
  t.deepEqual(decide(given(), { type: 'end' }), { events: [] });
  const toggle = { ...start('We move.'), type: 'toggle' } as const;
  t.deepEqual(decide(given(), toggle), { events: [STARTED] });
  t.deepEqual(decide(given(OTHER), toggle), { events: [ENDED] });
  for (const { type, data } of [STARTED, ENDED]) t.true(Value.Check(MAINTENANCE_EVENTS[type].schema, data));
});

/** The routes other than reads and administrators' own that go on for everybody. */
const GO_ON = [
  'POST /agency-events',
  'POST /internal/identity-webhook',
  'POST /webhooks/payment',
  'POST /console/session',
  'DELETE /console/session',
  'DELETE /users/me/sessions',
  'DELETE /users/me/sessions/{id}',
  // Its tools read, and the operations that they ask are refused where they change something.
  'POST /mcp',
];

test('every command of users is refused, in the shape of its API, and every other route works', async (t) => {
  const on = { message: 'We move.', started_at: '2026-01-31T09:00:00.000Z' };
  const maintenance = await openMaintenance({ read: async () => on }, { registry: new Registry(), logger: silent });
  t.teardown(() => maintenance.close());
  const routes = ALL_ROUTES.map((route): Route<unknown> => ({ ...route, handler: () => ({ status: 200, body: {} }) }));
  const sample = await startSample(routes, undefined, { maintenance, check_replies: false });
  t.teardown(() => sample.close());
  const ask = (route: Route<unknown>, as: string | null, method: string = route.method) =>
    sample.request(route.path.replace(/\{\w+\}/g, 'unknown'), {
      method,
      as,
      ...(method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: '{}' }),
    });
  const wrong: string[] = [];
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    const is_key = route.api.credentials === 'api-key';
    const refused = route.method !== 'GET' && route.access !== 'admin' && !GO_ON.includes(name);
    const of_user = await ask(route, is_key ? API_KEY : sample.tokens.alice);
    if ((of_user.status === 503) !== refused) wrong.push(`${name} as a user: ${of_user.status}`);
    if (refused) {
      const body = (await of_user.json()) as { code: string; detail: string; error: { code: string; message: string } };
      const { code, message } = is_key ? body.error : { code: body.code, message: body.detail };
      t.deepEqual([code, message, of_user.headers.get('retry-after')], ['maintenance', 'We move.', '60'], name);
    } else await of_user.arrayBuffer();
    if (is_key || route.access === 'none') continue;
    const of_admin = await ask(route, sample.tokens.root);
    await of_admin.arrayBuffer();
    if (of_admin.status === 503) wrong.push(`${name} as an administrator: 503`);
    const of_nobody = await ask(route, null);
    await of_nobody.arrayBuffer();
    if (of_nobody.status === 503) wrong.push(`${name} without credentials: 503, not 401`);
  }
  t.deepEqual(wrong, []);

  const ready = await sample.request('/readyz');
  t.is(ready.status, 200);
  t.deepEqual(await ready.json(), { status: 'ok', checks: {}, maintenance: on });
});

test('each process knows the mode before its first request, and follows its changes', async (t) => {
  const { log } = await openTestStores(t);
  const [mode, other] = [openMaintenanceMode(log), openMaintenanceMode(log)];
  await mode.start('We move.', commandContext(AT));
  const registry = new Registry();
  const opened = await openMaintenance(other, { registry, logger: silent, look_ms: 1 });
  t.teardown(() => opened.close());
  const command = { method: 'POST', access: 'user', is_always_open: false } as const;
  t.deepEqual(opened.current, STARTED.data);
  t.throws(() => opened.admit(command, null), { message: 'We move.' });
  t.regex(await registry.metrics(), /service_maintenance 1/);
  await mode.end(commandContext());
  await until(() => opened.current === null);
  t.notThrows(() => opened.admit(command, null));
  t.regex(await registry.metrics(), /service_maintenance 0/);
  await mode.start('Again.', commandContext());
  await until(() => opened.current?.message === 'Again.');
});

test('two administrators at once turn it on once, and a store that is away changes nothing', async (t) => {
  const { log } = await openTestStores(t);
  const modes = [openMaintenanceMode(log), openMaintenanceMode(log)];
  await Promise.all(modes.map((mode) => mode.start('We move.', commandContext(AT))));
  let events = 0;
  for await (const _ of log.readStream('service-maintenance')) events++;
  t.is(events, 1);

  let looks = 0;
  const away = async () => {
    if (looks++ > 0) throw new Error('away');
    return STARTED.data;
  };
  const opened = await openMaintenance({ read: away }, { registry: new Registry(), logger: silent, look_ms: 1 });
  t.teardown(() => opened.close());
  await until(() => looks > 3);
  t.deepEqual(opened.current, STARTED.data);
});

test("a look that began before this process's own change does not undo it", async (t) => {
  const answers = [Promise.resolve(null), new Promise<null>((resolve) => setImmediate(() => resolve(null)))];
  let opened: Maintenance | null = null;
  let looks = 0;
  const read = async () => {
    const answer = answers[looks++] ?? STARTED.data;
    if (looks === 2) queueMicrotask(() => opened?.changed(STARTED.data));
    return answer;
  };
  opened = await openMaintenance({ read }, { registry: new Registry(), logger: silent, look_ms: 1 });
  t.teardown(() => opened!.close());
  await until(() => looks > 2);
  t.deepEqual(opened.current, STARTED.data);
});
