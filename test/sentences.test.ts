// What SECURITY.md and the guide about signing in promise: each sentence names the tests that show it. A new sentence needs a row, or goes.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const SECURITY = 'SECURITY.md';

const sectionOf = (document: string, heading: string) =>
  document.split(/^## /m).find((section) => section.startsWith(heading))!;
const linksOf = (text: string) => [...text.matchAll(/\]\((test\/[^)#]+)\)/g)].map(([, file]) => file!);

test('each row of what the service defends against, and each point of what it leaves to others, links its tests', (t) => {
  const document = read(SECURITY);
  const rows = sectionOf(document, 'What the service defends')
    .split('\n')
    .slice(6)
    .filter((line) => line.startsWith('| '));
  const points = sectionOf(document, 'What it leaves').split(/^- /m).slice(1);
  t.true(rows.length > 10 && points.length >= 5);
  for (const text of [...rows, ...points]) {
    const files = linksOf(text);
    t.true(files.length > 0, text);
    for (const file of files) t.true(existsSync(join(ROOT, file)), file);
  }
});

const GUIDE = 'docs/guides/signing-in.md';
/** The guide's own lines of shell, which `test/guides/signing-in.test.ts` runs and compares with what it prints. */
const RUN = 'guides/signing-in.test.ts: a user signs in as the guide says, line by line';
const RECIPE = 'guides/signing-in.test.ts: with each recipe the console signs people in';
const IN_BROWSER = 'web/provider.test.ts: a user signs in at the provider and comes to the page that they wanted';
const CLAIMS =
  'adapters/identity/jwks.test.ts: settings name the claims of the user, the address and the administrator';
const ADMIN = 'adapters/identity/claims.test.ts: only the exact value, alone or in a list, makes an administrator';
const SESSIONS = 'service/ended.test.ts: users see their sessions and end one, or all';
const AWAY = 'service/identity-away.test.ts: an identity provider that is away is named in errors';
const TOLD = 'adapters/identity/lying-provider.test.ts: the operator is told why a sign-in failed';
const HOOK =
  "service/accounts.test.ts: the provider's webhook sets the address, and a late or repeated message changes nothing";
const DELETED =
  'service/ended.test.ts: a user whom the provider deleted has no session, token, key or share from then on';

/** A part of each sentence, and what shows it. */
const SHOWN: Readonly<Record<string, string>> = {
  'On one machine the service is its own issuer':
    'adapters/identity/local.test.ts: a token of this folder names its user',
  'prints a link that signs a browser in once':
    'adapters/identity/local.test.ts: the code of a link signs in within ten minutes',
  'listens on loopback only':
    'service/config.test.ts: readConfig refuses the local issuer on an address that others can reach',
  'the service verifies its tokens':
    'adapters/identity/provider.test.ts: a user who signs in gets a token that the service takes',
  'RS256, ES256 or EdDSA': 'adapters/identity/jwks.test.ts: the verifier accepts a token that is signed with',
  'discovery document has the rest': RUN,
  '`IDENTITY_JWKS_URL` | `jwks_uri`': RUN,
  '`IDENTITY_ISSUER` |': 'adapters/identity/jwks.test.ts: a token of another tenant of the same provider is refused',
  '`IDENTITY_AUDIENCE` |': 'service/config.test.ts: an identity provider needs an issuer and an audience',
  '`sub` when unset': CLAIMS,
  'an id is an account': CLAIMS,
  '`email` when unset': CLAIMS,
  'The name is the claim `name`': 'adapters/identity/claims.test.ts: the name is the claim name',
  '`role` and `admin` when unset': ADMIN,
  'code flow with PKCE': IN_BROWSER,
  '`PUBLIC_URL/console/provider/return`': RECIPE,
  'nobody signs in with a browser':
    'http/console/console-provider.test.ts: without a client at a provider nobody signs in there',
  'Dots in a claim': CLAIMS,
  'whose whole name has the dots wins': CLAIMS,
  '"email_verified": false': 'adapters/identity/claims.test.ts: an address that the provider calls unverified',
  'the service says who you are': RUN,
  'come with its first fingerprint':
    'service/accounts.test.ts: the credits of a new account come with its first fingerprint, once',
  '`withheld` means':
    'commands/users/signup-bonus.test.ts: an address gets three bonuses in 24 hours, each for another fingerprint',
  '`TRUSTED_PROXIES` names the proxy':
    'http/frame/client-address.test.ts: the service trusts the address that a trusted proxy reports',
  'A token that is wrong gets 401': RUN,
  'does not say why': RUN,
  'A sign-in that fails': 'http/console/console-provider.test.ts: a provider that refuses leads back',
  'log says why': TOLD,
  'has the audience account': TOLD,
  'with its last keys for an hour':
    'adapters/identity/provider.test.ts: while the provider is away, its last keys answer for an hour',
  'its check `identity_provider`': AWAY,
  'under *Services*': AWAY,
  '*Standard flow*': RECIPE,
  '*Valid redirect URIs*': RECIPE,
  '*Client authentication* on': IN_BROWSER,
  'of the type *Audience*': RECIPE,
  '*Included Custom Audience*': RECIPE,
  'nobody can sign in': TOLD,
  '*Access Token Lifespan*':
    'http/console/console-provider.test.ts: a session of an administrator lasts no longer than the token that says so',
  'five minutes':
    'http/console/console-provider.test.ts: a session of an administrator lasts no longer than the token that says so',
  'An address that is not verified': 'adapters/identity/claims.test.ts: an address that the provider calls unverified',
  'Turn on *Verify email*': 'adapters/identity/claims.test.ts: an address that the provider calls unverified',
  'Under *Realm roles*': ADMIN,
  'Create an API with the identifier': RECIPE,
  'asks for tokens of this audience': IN_BROWSER,
  '*Regular Web Application*': RECIPE,
  '*Allowed Callback URLs*': RECIPE,
  'neither address nor roles': CLAIMS,
  'Add an action': CLAIMS,
  'Create the role': ADMIN,
  'Give your own account the role': RUN,
  'keeps no list of administrators': 'service/ended.test.ts: a session of an administrator ends with the role',
  'others last 24 hours':
    'http/console/console-provider.test.ts: a session of an administrator lasts no longer than the token that says so',
  '`GET /users/me/sessions` shows': SESSIONS,
  'Administrators list and end': 'service/ended.test.ts: administrators see the sessions of a user, and end them',
  'of a deleted account not at all': 'service/accounts.test.ts: tokens with two addresses, presented in turn',
  'Standard Webhooks': RUN,
  'Let it send': HOOK,
  'begins with `whsec_`': RUN,
  'The service reads `data.id`':
    "service/accounts.test.ts: a message with a provider's list of addresses sets the primary one",
  'older than one it has': HOOK,
  '[erases]': DELETED,
  'A test message': RUN,
};

function sentencesOf(document: string): string[] {
  const prose = document.replace(/^ *```[\s\S]*?^ *```/gm, '\n').replace(/^#.*$|^\| setting .*$|^\|[-| ]+\|$/gm, '\n');
  return prose
    .split(/\n\s*\n|\n(?=\d+\. |\|)/)
    .flatMap((block) => block.replace(/\s+/g, ' ').split(/(?<=[.:])(?= +[A-Z`*])/))
    .filter((sentence) => /[a-z]/.test(sentence));
}

test('each sentence about signing in has a test that is there', (t) => {
  const sentences = sentencesOf(read(GUIDE));
  for (const sentence of sentences)
    t.is(Object.keys(SHOWN).filter((part) => sentence.includes(part)).length > 0, true, `no test shows: ${sentence}`);
  for (const [part, shown] of Object.entries(SHOWN)) {
    t.true(
      sentences.some((sentence) => sentence.includes(part)),
      `the guide says no more: ${part}`,
    );
    const [, file, title] = /^(\S+): (.*)$/.exec(shown)!;
    t.true(read(`test/${file}`).includes(title!), `${file} has no test: ${title}`);
  }
});
