// Sessions of browsers: what a cookie says is taken only as the log says that the session began.
import test from 'ava';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { openAccounts } from '../../../commands/users/accounts.ts';
import { openSessions } from '../../../commands/users/sessions.ts';
import { openBrowserSessions } from '../../../http/callers/sessions.ts';
import { openSignedCookie } from '../../../http/callers/signed-cookie.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const cookie = openSignedCookie({
  ...{ name: 'session', secret: Buffer.alloc(32, 7), path: '/', same_site: 'Strict', https: false },
});
const pairOf = (set_cookie: string) => set_cookie.split(';')[0]!;
const HOUR_S = 3600;

test('a cookie that is signed rightly and says what did not begin is refused: the user, the end, the role', async (t) => {
  const { log } = await openTestStores(t);
  const accounts = openAccounts(log, openCredits(log), { signup_credits: 0, bonus_at: 'first_sight' });
  const sessions = openBrowserSessions(openSessions(log), accounts, cookie);
  const context = commandContext();
  const { now } = context;
  const user = { user_id: 'alice', email: null, is_admin: false };
  const begun = pairOf(await sessions.begin({ id: 's1', user, lasts_s: HOUR_S }, context));
  t.like(await sessions.callerOf(begun), { user_id: 'alice', is_admin: false });

  const claims = { jti: 's1', sub: 'alice', email: null, is_admin: false };
  const made = async (changes: object, lasts_s = HOUR_S) =>
    pairOf(await cookie.made({ ...claims, ...changes }, lasts_s, now));
  t.truthy(await sessions.callerOf(await made({})), 'the same again');
  const forged = {
    role: await made({ is_admin: true }),
    user: await made({ sub: 'root' }),
    end: await made({}, HOUR_S + 1),
    session: await made({ jti: 's2' }),
  };
  for (const [what, pair] of Object.entries(forged)) t.is(await sessions.callerOf(pair), null, what);
});

test('a sign-in at the moment when all sessions end ends with them', async (t) => {
  const { log } = await openTestStores(t);
  const accounts = openAccounts(log, openCredits(log), { signup_credits: 0, bonus_at: 'first_sight' });
  const user = { user_id: 'alice', email: null, is_admin: false };
  let isBeside = true;
  const sessions = openBrowserSessions(
    openSessions(log),
    {
      see: accounts.see,
      async find(user_id) {
        const found = await accounts.find(user_id);
        if (isBeside) await accounts.endSessions(user_id, commandContext());
        return found;
      },
    },
    cookie,
  );
  const begin = async (id: string) => pairOf(await sessions.begin({ id, user, lasts_s: HOUR_S }, commandContext()));
  const beside = await begin('s1');
  isBeside = false;
  t.is(await sessions.callerOf(beside), null);
  t.like(await sessions.callerOf(await begin('s2')), { user_id: 'alice' });
});
