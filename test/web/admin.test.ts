// Administration in a browser: a user is found and changed, the service is looked at, and who is no administrator fetches nothing of it.
import test from 'ava';
import { assertAccessible, newUser, startConsole, type TestConsole } from '../support/console.ts';
import { until } from '../support/until.ts';

let service: TestConsole;
test.before(async () => {
  service = await startConsole();
});
test.after.always(() => service?.stop());

const HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e';
const ROOT = { user: 'root', is_admin: true };

/** A user whom administrators find. */
async function knownUser(user = newUser()): Promise<string> {
  await (await service.client(user)).ask('GET', '/users/me');
  const root = await service.client(newUser(), { is_admin: true });
  const search = new URLSearchParams({ search: user });
  while ((await root.ask('GET', `/admin/users?${search}`)).body.total === 0);
  return user;
}

test('an administrator finds a user, and changes credits, limit, notes and star with a reason on record', async (t) => {
  const user = await knownUser();
  const page = await service.open(t, '/jobs', ROOT);
  await page.getByRole('link', { name: 'Administration' }).click();
  await page.getByLabel('Search').fill(user.toUpperCase());
  await page.getByRole('button', { name: `Star ${user}` }).click();
  await page.getByRole('button', { name: `Star ${user}`, pressed: true }).waitFor();
  t.true(page.url().endsWith(`/admin?search=${user.toUpperCase()}`));
  await assertAccessible(t, page);

  await page.getByRole('link', { name: user }).click();
  await page.getByRole('button', { name: 'Adjust credits' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Credits').fill('-1000');
  await dialog.getByLabel('Reason').fill('A test of ours');
  await dialog.getByRole('button', { name: 'Adjust credits' }).click();
  await dialog.getByText('The balance is 300').waitFor();
  await dialog.getByLabel('Credits').fill('500');
  await assertAccessible(t, page);
  await dialog.getByRole('button', { name: 'Adjust credits' }).click();
  await page.getByRole('row').filter({ hasText: '+500' }).getByText('800').waitFor();

  await page.getByRole('button', { name: 'Set the limit' }).click();
  await dialog.getByLabel('Credits in a period').fill('1000');
  await dialog.getByLabel('Reason').fill('A trial');
  await dialog.getByRole('button', { name: 'Set the limit' }).click();
  await page.getByRole('row').filter({ hasText: 'A trial' }).getByText('root').waitFor();

  await page.getByLabel('Notes').fill('Asked for an invoice');
  await page.getByRole('button', { name: 'Save the notes' }).click();
  await page.getByText('The notes are saved.').waitFor();
  await page.reload();
  const notes = page.getByLabel('Notes');
  t.is(await notes.inputValue(), 'Asked for an invoice');
  await notes.fill('');
  await page.getByRole('button', { name: 'Save the notes' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('It is as it was.').waitFor();
  await until(async () => (await notes.inputValue()) === 'Asked for an invoice');

  const root = await service.client(newUser(), { is_admin: true });
  await notes.fill('Has the invoice');
  await page.getByRole('button', { name: 'Save the notes' }).click();
  const undo = page.getByRole('button', { name: 'Undo' });
  await undo.waitFor();
  await root.ask('PATCH', `/admin/users/${user}/notes`, { notes: 'Written in another tab' });
  await undo.click();
  await page.getByText('Somebody else has changed the notes').waitFor();
  await notes.fill('Has no invoice');
  await page.getByRole('button', { name: 'Save the notes' }).click();
  await page.getByRole('alert').getByText('Somebody else has changed the notes').waitFor();
  t.is((await root.ask('GET', `/admin/users/${user}`)).body.notes, 'Written in another tab');
  await page.getByRole('row').filter({ hasText: 'A test of ours' }).waitFor();
  await assertAccessible(t, page);
});

test('a star shows at once, and goes again when the service refuses it, also twice', async (t) => {
  const user = await knownUser();
  const page = await service.open(t, `/admin?search=${user}`, ROOT);
  const refusal = Promise.withResolvers<void>();
  await page.route(/\/star$/, async (route) => {
    await refusal.promise;
    await route.fulfill({ status: 503, json: { detail: 'It is away.' } });
  });
  await page.getByRole('button', { name: `Star ${user}`, pressed: false }).click();
  await page.getByRole('button', { name: `Star ${user}`, pressed: true }).click();
  await page.getByRole('button', { name: `Star ${user}`, pressed: false }).waitFor();
  refusal.resolve();
  await page.getByText('It is away.').nth(1).waitFor();
  await page.getByRole('button', { name: `Star ${user}`, pressed: false }).waitFor();
  t.pass();
});

test('the first administrator is in the list at once, and grants in one press', async (t) => {
  const user = await knownUser();
  const page = await service.open(t, '/admin', ROOT);
  await page.getByRole('link', { name: ROOT.user, exact: false }).first().waitFor();
  const row = page.getByRole('row').filter({ hasText: user });
  await row.getByRole('button', { name: 'Grant 10,000' }).click();
  await row.getByRole('cell', { name: '10,300' }).waitFor();
  await row.getByRole('link', { name: user }).click();
  await page.getByRole('button', { name: 'Grant 10,000' }).click();
  await page.getByRole('cell', { name: '20,300' }).first().waitFor();
  t.pass();
});

test('the list is sorted and filtered by its address', async (t) => {
  const user = await knownUser();
  const page = await service.open(t, `/admin?search=${user}&hide_admin=false`, ROOT);
  await page.getByRole('link', { name: 'Credits', exact: true }).click();
  await page.getByRole('columnheader', { name: 'Credits' }).and(page.locator('[aria-sort=descending]')).waitFor();
  await page.getByRole('link', { name: 'Credits', exact: true }).click();
  await page.getByRole('columnheader', { name: 'Credits' }).and(page.locator('[aria-sort=ascending]')).waitFor();
  t.true(page.url().endsWith(`?search=${user}&hide_admin=false&sort_by=credit_balance&sort_order=asc`));
  await page.getByRole('link', { name: 'paying' }).click();
  await page.getByRole('heading', { name: 'No user matches' }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: user }).waitFor();
});

test('hostile names, notes and reasons stay text', async (t) => {
  const user = await knownUser();
  const root = await service.client('root', { is_admin: true });
  await root.ask('PATCH', `/admin/users/${user}/notes`, { notes: HOSTILE });
  const reason = encodeURIComponent(`${HOSTILE.slice(0, -1)} reason`);
  await root.ask('POST', `/admin/users/${user}/adjust-credits?amount=1&reason=${reason}`);
  const page = await service.open(t, '/jobs', ROOT);
  // An identity provider takes any name.
  await page.route(/\/admin\/users[/?]/, async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    for (const shown of body.items ?? [body]) shown.name = HOSTILE;
    await route.fulfill({ response, json: body });
  });
  await page.goto(`${service.url}/console/admin?search=${user}`);
  await page.getByRole('row').getByText('onerror').waitFor();
  await page.getByRole('link', { name: user }).click();
  await page.getByRole('heading', { name: 'onerror' }).waitFor();
  t.is(await page.getByLabel('Notes').inputValue(), HOSTILE);
  await page.getByRole('row').filter({ hasText: 'onerror' }).getByText('reason').waitFor();
  t.is(await page.locator('main img, main script').count(), 0);
  await assertAccessible(t, page);
});

test('a read model is rebuilt and compared while the page looks on', async (t) => {
  const page = await service.open(t, '/admin/services', ROOT);
  await page.getByText('Waiting in the queue').waitFor();
  await page.getByRole('table', { name: 'Processes' }).getByText('projector').first().waitFor();
  await page.getByRole('button', { name: 'Rebuild jobs', exact: true }).click();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Rebuild it' }).click();
  await page.getByRole('table', { name: 'Read models' }).getByText('all equal').waitFor();
  await assertAccessible(t, page);
});

// Alone: it refuses the commands of other tests' users meanwhile.
test.serial('maintenance mode is turned on with a message and off again, and a backup is made', async (t) => {
  const page = await service.open(t, '/admin/maintenance', ROOT);
  await page.getByRole('heading', { name: 'There is no backup yet' }).waitFor();
  await page.getByRole('button', { name: 'Turn it on' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('What users are told').fill('Back at 18:00 <b>UTC</b>.');
  await assertAccessible(t, page);
  await dialog.getByRole('button', { name: 'Turn it on' }).click();
  await page.getByText('Back at 18:00 <b>UTC</b>.').waitFor();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Turn it off' }).click();
  await page.getByRole('button', { name: 'Turn it on' }).waitFor();
  await page.getByRole('button', { name: 'Make a backup' }).click();
  await page.getByRole('table', { name: 'Backups' }).getByText('completed').waitFor();
  await assertAccessible(t, page);
});

test('a test mail says on the page of mails what stands in its way', async (t) => {
  const page = await service.open(t, '/admin/mails', ROOT);
  await page.getByLabel('Send a test mail to').fill('op@example.com');
  await page.getByRole('button', { name: 'Send a test mail' }).click();
  await page.getByText('SMTP_URL is unset, so the mail is a file').waitFor();
  await assertAccessible(t, page);
});

test('a user sees no administration and fetches nothing of it', async (t) => {
  const page = await service.open(t, '/jobs', { user: newUser() });
  await page.getByRole('heading', { name: 'You have no jobs yet' }).waitFor();
  t.is(await page.getByRole('link', { name: 'Administration' }).count(), 0);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  const figures = ['growth', 'revenue', 'retention', 'paywall', 'domains', 'domains/example.com', 'blocklist'];
  const rest = [...figures, 'logs', 'proxies', 'proxies/1', 'audit-trail', 'services', 'maintenance', 'users/root'];
  for (const path of ['', ...rest.map((name) => `/${name}`)]) {
    await page.goto(`${service.url}/console/admin${path}`);
    await page.getByRole('heading', { name: 'Only administrators may see this' }).waitFor();
  }
  t.true(asked.includes('/users/me'));
  t.deepEqual(
    asked.filter((path) => /^\/(admin|domains|logs|proxies)/.test(path)),
    [],
  );
});
