// No key does two jobs: each thing that the service signs or seals is forged here by hand, once with the key of each purpose, where all
// secrets are alike. Only the thing's own key may make one that is taken.
import { createCipheriv, createHmac, createPrivateKey, sign } from 'node:crypto';
import test from 'ava';
import { SignJWT } from 'jose';
import { openSandbox } from '../../adapters/payments/sandbox.ts';
import { openNoteSigner, textOfNote } from '../../audit/signed-note.ts';
import { signingSecret } from '../../commands/webhook-endpoints.ts';
import { derivedKey, PURPOSES, type Purpose } from '../../events/derived-key.ts';
import { seal, unseal } from '../../events/personal.ts';
import { assertOpens } from '../../events/personal-keys.ts';
import { openClientHash } from '../../http/callers/client-hash.ts';
import { openSignedCookie } from '../../http/callers/signed-cookie.ts';
import { openCursors, openListCursors } from '../../http/frame/cursors.ts';
import { secretsOf } from '../../http/frame/once.ts';
import { openSignedLinks } from '../../http/frame/signed-links.ts';

const SECRET = Buffer.alloc(32, 's');
const FAR_S = 9_999_999_999;
const NOW_S = 1_769_853_600;

interface Thing {
  /** What somebody makes who has this key, and the rest of what there is to know. */
  forge(key: Uint8Array): string | Promise<string>;
  isTaken(forged: string): boolean | Promise<boolean>;
}

const mac = (key: Uint8Array, text: string | Buffer) => createHmac('sha256', key).update(text).digest();
const isDone = (run: () => unknown): boolean => {
  try {
    run();
    return true;
  } catch {
    return false;
  }
};

const links = openSignedLinks({ secret: SECRET, base_url: () => '', now: () => NOW_S * 1000 });
const cursors = openCursors(SECRET);
const list_cursors = openListCursors(SECRET);
const sandbox = openSandbox({
  base_url: () => '',
  now: () => NOW_S * 1000,
  keys: {
    checkout: derivedKey(SECRET, 'sandbox: checkouts'),
    portal: derivedKey(SECRET, 'sandbox: portals'),
    event: derivedKey(SECRET, 'sandbox: events'),
  },
});

function cookie(name: 'session' | 'sign-in'): Thing {
  const opened = openSignedCookie({ name, secret: SECRET, path: '/', same_site: 'Strict', https: false });
  return {
    forge: (key) =>
      new SignJWT({ is_admin: true }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime(FAR_S).sign(key),
    isTaken: async (token) => (await opened.read(`${name}=${token}`)) !== null,
  };
}

function sandboxSession(read: (session_id: string) => object | null): Thing {
  return {
    forge(key) {
      const text = Buffer.from(JSON.stringify({ user_id: 'mallory', expires_ms: FAR_S * 1000 })).toString('base64url');
      return `${text}.${mac(key, text).toString('base64url')}`;
    },
    isTaken: (session_id) => read(session_id) !== null,
  };
}

function sealed(encryption: Uint8Array, iv_key: Uint8Array, place: string, text: string): string {
  const iv = mac(iv_key, `${place}\0${text}`).subarray(0, 12);
  const cipher = createCipheriv('aes-256-gcm', encryption, iv).setAAD(Buffer.from(place));
  const bytes = [cipher.update(text, 'utf8'), cipher.final()];
  return `sealed:2:${Buffer.concat([iv, cipher.getAuthTag(), ...bytes]).toString('base64url')}`;
}
const sealedWhole = (key: Uint8Array, place: string, text: string) =>
  sealed(derivedKey(key, 'seals: encryption'), derivedKey(key, 'seals: IV'), place, text);

const THINGS: Readonly<Record<Purpose, Thing>> = {
  links: {
    forge: (key) =>
      `/files/a?expires=${FAR_S}&signature=${mac(key, `/files/a?expires=${FAR_S}`).toString('base64url')}`,
    isTaken: (link) => links.verify('/files/a', link.slice('/files/a?'.length)) === 'valid',
  },
  'cursors of results': {
    forge(key) {
      const index = Buffer.alloc(4);
      return Buffer.concat([index, mac(key, JSON.stringify(['j1', {}, 0])).subarray(0, 16)]).toString('base64url');
    },
    isTaken: (cursor) => isDone(() => cursors.indexOf(cursor, { job_id: 'j1', filter: {} })),
  },
  'cursors of lists': {
    forge(key) {
      const text = JSON.stringify(['a']);
      const signed = mac(key, JSON.stringify([{ user_id: 'alice' }, text])).subarray(0, 16);
      return Buffer.concat([signed, Buffer.from(text)]).toString('base64url');
    },
    isTaken: (cursor) => isDone(() => list_cursors.valuesOf(cursor, { user_id: 'alice' })),
  },
  'cookie session': cookie('session'),
  'cookie sign-in': cookie('sign-in'),
  'hashes of clients': {
    forge: (key) => mac(key, 'user\0alice').toString('hex'),
    isTaken: (hash) => openClientHash(SECRET).text('user', 'alice') === hash,
  },
  'secrets of webhook endpoints': {
    forge: (key) => `whsec_${mac(key, 'webhook endpoint we-1').toString('base64url')}`,
    isTaken: (secret) => signingSecret(SECRET, 'we-1') === secret,
  },
  'secrets of keyed requests': {
    forge: (key) => mac(key, JSON.stringify(['share', 'alice', 'k', 'id'])).toString('hex'),
    isTaken: (secret) => secretsOf(SECRET, ['alice', 'k', 'id'])('share').toString('hex') === secret,
  },
  'personal keys': {
    forge: (key) => sealedWhole(key, 'personal_keys-user/alice', 'key'),
    isTaken: (wrapped) => isDone(() => assertOpens(SECRET, 'personal_keys-user/alice', { wrapped })),
  },
  'seals: encryption': {
    forge: (key) => sealed(key, derivedKey(SECRET, 'seals: IV'), 'event', 'ada@example.com'),
    isTaken: (text) => isDone(() => unseal(SECRET, 'event', text)),
  },
  'seals: IV': {
    forge: (key) => sealed(derivedKey(SECRET, 'seals: encryption'), key, 'event', 'ada@example.com'),
    isTaken: (text) => seal(SECRET, 'event', 'ada@example.com') === text,
  },
  'ledger heads': {
    forge(key) {
      const { verifier } = openNoteSigner('ledger', SECRET);
      const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), key]);
      const made = sign(null, Buffer.from('head\n'), createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }));
      const id = Buffer.from(verifier.split('+')[1]!, 'hex');
      return `head\n\n— ledger ${Buffer.concat([id, made]).toString('base64')}\n`;
    },
    isTaken: (note) => textOfNote(note, openNoteSigner('ledger', SECRET).verifier) === 'head\n',
  },
  'sandbox: checkouts': sandboxSession((session_id) => sandbox.opened(session_id)),
  'sandbox: portals': sandboxSession((session_id) => sandbox.openedPortal(session_id)),
  'sandbox: events': {
    forge: (key) => `t=${NOW_S},v1=${mac(key, `${NOW_S}.{}`).toString('hex')}`,
    isTaken: async (signature) => (await sandbox.read(Buffer.from('{}'), () => signature)) !== null,
  },
};

for (const [purpose, { forge, isTaken }] of Object.entries(THINGS)) {
  test(`${purpose}: what the key of another purpose made is refused`, async (t) => {
    t.true(await isTaken(await forge(derivedKey(SECRET, purpose as Purpose))), 'forged rightly');
    for (const other of PURPOSES.filter((each) => each !== purpose)) {
      t.false(await isTaken(await forge(derivedKey(SECRET, other))), other);
    }
    t.false(await isTaken(await forge(SECRET)), 'the secret itself');
  });
}

test('what was sealed under a key for everything still opens', (t) => {
  const old = sealed(SECRET, SECRET, 'event', 'ada@example.com').replace('sealed:2:', 'sealed:1:');
  t.is(unseal(SECRET, 'event', old), 'ada@example.com');
  t.throws(() => unseal(SECRET, 'event', old.replace('sealed:1:', 'sealed:2:')));
  t.throws(() => unseal(SECRET, 'event', seal(SECRET, 'event', 'x').replace('sealed:2:', 'sealed:1:')));
});
