// Which URLs a webhook endpoint may have, before anything is looked up.
import test from 'ava';
import { createAddressGuard } from '../../../checkers/engine/addresses.ts';
import { openWebhookTargets } from '../../../http/webhooks/webhook-targets.ts';

const targets = (...allowed: string[]) =>
  openWebhookTargets(createAddressGuard(allowed), { http_somewhere: allowed.length > 0 });

test('an endpoint may have any https URL on the public internet', (t) => {
  for (const url of [
    'https://example.com',
    'https://example.com:8443/hooks/a?token=b#c',
    'https://bücher.example/',
    'https://93.184.215.14/',
    'https://[2606:4700::6810:84e5]/',
    'HTTPS://EXAMPLE.COM/',
  ]) {
    t.is(targets().problemOf(url), null, url);
  }
});

const REFUSED: readonly [url: string, problem: RegExp][] = [
  ['example.com/hook', /is not a URL/],
  ['https://', /is not a URL/],
  ['https://exa mple.com/', /is not a URL/],
  ['https://example.com/\n', /is not a URL/],
  ['https://example.com/\0', /is not a URL/],
  ['file:///etc/passwd', /is not a URL/],
  ['javascript:alert(1)', /is not a URL/],
  ['http://example.com/', /must start with https/],
  ['http://127.0.0.1/', /must start with https/],
  ['https://me@example.com/', /user name/],
  ['https://me:secret@example.com/', /user name/],
  ['https://127.0.0.1/', /not on the public internet/],
  ['https://localhost/', /not on the public internet/],
  ['https://a.localhost./', /not on the public internet/],
  ['https://169.254.169.254/', /not on the public internet/],
  ['https://0xa9fea9fe/', /not on the public internet/],
  ['https://2852039166/', /not on the public internet/],
  ['https://192.168.1.1/', /not on the public internet/],
  ['https://[::1]/', /not on the public internet/],
  ['https://[::ffff:169.254.169.254]/', /not on the public internet/],
  ['https://[64:ff9b::a00:1]/', /not on the public internet/],
];
for (const [url, problem] of REFUSED) {
  test(`webhook targets refuse ${JSON.stringify(url)}: ${problem.source}`, (t) =>
    t.regex(targets().problemOf(url)!, problem));
}

test('an endpoint may have allowed addresses, also by plain http', (t) => {
  const some = targets('127.0.0.0/8', '10.1.0.0/16');
  for (const url of ['http://127.0.0.1:8098/', 'http://localhost/', 'http://10.1.2.3/', 'https://10.1.2.3/']) {
    t.is(some.problemOf(url), null, url);
  }
  // Where it leads is seen when something is sent.
  t.is(some.problemOf('http://inside.example/'), null);
  t.regex(some.problemOf('http://93.184.215.14/')!, /must start with https/);
  t.regex(some.problemOf('https://10.2.0.1/')!, /not on the public internet/);
});
