// What the claims of a token, which may hold anything, say about its bearer.
import test from 'ava';
import { identified, USUAL_CLAIMS } from '../../../adapters/identity/claims.ts';

const emailOf = (email: unknown) => identified({ sub: 'ada', email }, USUAL_CLAIMS)?.email;

test('an address is in lower case', (t) => {
  t.is(emailOf('Ada@Example.COM'), 'ada@example.com');
  t.is(emailOf(`${'a'.repeat(64)}@${'b'.repeat(255)}`)?.length, 320);
});

for (const [what, email] of [
  ['a NUL', 'ada\0@example.com'],
  ['half of a surrogate pair', 'ada\ud800@example.com'],
  ['a line break', 'ada@example.com\r\nbcc: all@example.com'],
  ['more characters than mail takes', `${'a'.repeat(65)}@${'b'.repeat(255)}`],
  ['no character', ''],
  ['another type', ['ada@example.com']],
] as const) {
  test(`an address with ${what} counts as none`, (t) => {
    t.is(emailOf(email), null);
  });
}

test('an address that the provider calls unverified, in whatever type, does not count', (t) => {
  const emailWith = (email_verified: unknown) =>
    identified({ sub: 'ada', email: 'ada@example.com', email_verified }, USUAL_CLAIMS)?.email;
  for (const verified of [undefined, true, 'true']) t.is(emailWith(verified), 'ada@example.com');
  for (const not of [false, 'false', 'no', 0, '', null, []]) t.is(emailWith(not), null);
});

test('the name is the claim name, else given_name and family_name', (t) => {
  const nameOf = (claims: object) => identified({ sub: 'ada', ...claims }, USUAL_CLAIMS)?.name;
  t.is(nameOf({ name: 'Ada L.', given_name: 'Ada', family_name: 'Lovelace' }), 'Ada L.');
  t.is(nameOf({ given_name: 'Ada', family_name: 'Lovelace' }), 'Ada Lovelace');
  t.is(nameOf({ family_name: 'Lovelace' }), 'Lovelace');
  t.is(nameOf({}), undefined);
});

test('a user id with other characters than visible ones of ASCII names nobody', (t) => {
  for (const sub of ['', 'a b', 'a\0', 'a\n', 'e\u0301', '\u00e9', 'a'.repeat(201)]) {
    t.is(identified({ sub }, USUAL_CLAIMS), null);
  }
  for (const sub of ['__proto__', 'constructor', '../../etc', 'auth0|x', '~'.repeat(200)]) {
    t.like(identified({ sub }, USUAL_CLAIMS), { user_id: sub });
  }
});

test('only the exact value, alone or in a list, makes an administrator', (t) => {
  const claims = { ...USUAL_CLAIMS, admin: 'realm_access.roles' };
  const isAdmin = (payload: object) => identified({ sub: 'ada', ...payload }, claims)?.is_admin;
  t.true(isAdmin({ realm_access: { roles: ['user', 'admin'] } }));
  t.true(isAdmin({ 'realm_access.roles': 'admin' }));
  for (const roles of [[['admin']], { admin: true }, 'ADMIN', 'user,admin', true, 1, null]) {
    t.false(isAdmin({ realm_access: { roles } }));
  }
  t.false(isAdmin({ realm_access: [{ roles: 'admin' }] }));
  t.false(isAdmin({ role: 'admin' }));
  t.false(isAdmin(JSON.parse('{"__proto__":{"realm_access":{"roles":["admin"]}}}')));
});
