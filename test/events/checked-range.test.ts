// The compact form of a range's outcomes keeps each of them whole.
import test from 'ava';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { endOf, foldRange, indexesOf, namesUrls, unfold } from '../../events/checked-range.ts';
import { CHECKS_EVENTS, type Outcome, type URLChecked } from '../../events/checks.ts';
import { upcast } from '../../events/codec.ts';
import { jsonBytes } from '../../events/event-store.ts';
import { checksStream } from '../../events/streams.ts';
import { EventFromLater } from '../../events/unreadable.ts';
import { EVENT_TYPES } from '../../events/vocabulary.ts';
import { eventsOf, FOUND } from '../support/behind.ts';
import { anOutcome, aUrl as url } from '../support/outcomes.ts';
import { coded, commandContext, openTestStores } from '../support/stores.ts';

test('each URL gets its outcome back, whatever they have in common', (t) => {
  const validator = Compile(CHECKS_EVENTS.URLChecked.schema);
  const rows = fc.array(fc.tuple(url, fc.oneof(anOutcome, fc.constant(FOUND))), { minLength: 1, maxLength: 100 });
  fc.assert(
    fc.property(rows, fc.nat(1_000_000), (found, from_index) => {
      const urls = found.map(([one]) => one);
      const outcomes = found.map(([, outcome]) => outcome);
      const data = foldRange('j', from_index, urls, outcomes);
      t.true(validator.Check(data));
      t.deepEqual(
        unfold(JSON.parse(JSON.stringify(data)), urls),
        outcomes.map((outcome, n) => ({ job_id: 'j', index: from_index + n, url: urls[n]!, ...outcome })),
      );
    }),
  );
});

test('an event of before proxies and earlier attempts were recorded is read as it was', (t) => {
  const data: URLChecked = {
    ...{ job_id: 'j', from_index: 4, response_times_ms: [31, null], usual: { content_type: 'text/html' } },
    differences: [{ at: 1, status_code: null, is_broken: true, verdict: 'unreachable', error_code: 'dns_not_found' }],
  };
  t.true(Compile(CHECKS_EVENTS.URLChecked.schema).Check(data));
  const page = { ...FOUND, job_id: 'j', content_type: 'text/html' };
  t.deepEqual(unfold(data, ['a', 'b']), [
    { ...page, index: 4, url: 'a', final_url: 'a', response_time_ms: 31 },
    {
      ...{ ...page, index: 5, url: 'b', final_url: null, response_time_ms: null, status_code: null, is_broken: true },
      ...{ verdict: 'unreachable', error_code: 'dns_not_found' },
    },
  ]);
});

test('the proxy of most URLs is written once', (t) => {
  const outcomes: Outcome[] = [FOUND, FOUND, FOUND].map((found) => ({ ...found, final_url: 'a', proxy_id: 'p1' }));
  delete outcomes[1]!.proxy_id;
  const { usual, differences } = foldRange('j', 0, ['a', 'a', 'a'], outcomes);
  t.is(usual.proxy_id, 'p1');
  t.deepEqual(differences, [{ at: 1, proxy_id: null }]);
});

test('a range of ordinary pages takes a few bytes a URL', (t) => {
  const urls = Array.from({ length: 100 }, (_, n) => `https://www.example.com/articles/${n}`);
  const outcomes = urls.map((final_url, n): Outcome => {
    const page = { ...FOUND, final_url, response_time_ms: 20 + n, content_type: 'text/html; charset=utf-8' };
    return n % 10 === 3 ? { ...page, status_code: 404, is_broken: true, verdict: 'broken' } : page;
  });
  t.true(jsonBytes(foldRange('0b6ed1a5-93c4-4f7b-a8a1-6d1d2a7a9c11', 0, urls, outcomes)) < 12 * urls.length);
});

test('URLs that a listing lacks are empty texts', (t) => {
  const data = foldRange('j', 7, ['a', 'b'], [{ ...FOUND, final_url: 'a' }, FOUND]);
  t.deepEqual(
    unfold(data, []).map(({ index, url, final_url }) => [index, url, final_url]),
    [
      [7, '', ''],
      [8, '', null],
    ],
  );
});

test('an event tells of any URLs of its range, in a few bytes', (t) => {
  const validator = Compile(CHECKS_EVENTS.URLChecked.schema);
  const range = fc.array(fc.option(fc.oneof(anOutcome, fc.constant(FOUND)), { nil: undefined }), { maxLength: 98 });
  fc.assert(
    fc.property(range, fc.nat(1_000_000), (inner, from_index) => {
      const outcomes = [FOUND, ...inner, FOUND];
      const urls = outcomes.map((_, n) => `https://a.example/${n}`);
      const data: URLChecked = JSON.parse(JSON.stringify(foldRange('j', from_index, urls, outcomes)));
      t.true(validator.Check(data) && namesUrls(data));
      const known = outcomes.flatMap((outcome, n) => (outcome ? [{ n, outcome }] : []));
      t.deepEqual(
        unfold(data, urls),
        known.map(({ n, outcome }) => ({ job_id: 'j', index: from_index + n, url: urls[n]!, ...outcome })),
      );
      t.deepEqual(
        indexesOf(data),
        known.map(({ n }) => from_index + n),
      );
      t.is(endOf(data), from_index + outcomes.length);
      t.is(data.mask === undefined, known.length === outcomes.length);
      t.true((data.mask ?? '').length <= 25);
    }),
  );
});

test('data whose mask does not fit its outcomes names no URLs', (t) => {
  const data = foldRange('j', 0, ['a', 'b', 'c'], [FOUND, undefined, FOUND]);
  t.true(namesUrls(data));
  for (const mask of ['', '1', 'ff', 'zz', 7, null]) t.false(namesUrls({ ...data, mask }), String(mask));
  for (const from_index of [-1, 0.5, '0', undefined]) t.false(namesUrls({ ...data, from_index }));
});

test('an older reader, to whom a mask means nothing, refuses the event instead of taking its whole range', async (t) => {
  const { log } = await openTestStores(t);
  const range = { job_id: 'j', batch: 0, from_index: 0, urls: ['a', 'b', 'c'] };
  await recordChecks(coded(log), range, [FOUND, undefined, FOUND], commandContext());
  const [event] = await eventsOf(log, checksStream('j', 0));
  t.is(event!.metadata.version, 2);
  const before = { ...EVENT_TYPES, URLChecked: { ...EVENT_TYPES.URLChecked, upcasters: [] } };
  t.throws(() => upcast(event!, before), { instanceOf: EventFromLater });
});
