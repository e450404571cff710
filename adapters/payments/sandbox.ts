// The sandbox for payments: checkout pages of this service that move no money. A session id holds the order itself, signed, so that
// nobody can guess or change one, and none is stored.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import {
  type Delivery,
  isRecentSignature,
  type Sandbox,
  type SandboxCheckout,
  type SandboxPortal,
} from '../../http/billing/payments.ts';

const SESSION_MS = 24 * 3_600_000;
/** An event's signature is valid for this long, as with other providers. */
const TOLERANCE_S = 300;
const SIGNATURE_HEADER = 'sandbox-signature';

export interface SandboxOptions {
  /** A key for each kind of thing that the sandbox signs. */
  keys: Readonly<Record<Purpose | 'event', Uint8Array>>;
  /** The base URL of the service, without a slash at its end. */
  base_url: () => string;
  now: () => number;
}

type Purpose = 'checkout' | 'portal';

export function openSandbox({ keys, base_url, now }: SandboxOptions): Sandbox {
  const mac = (purpose: keyof typeof keys, text: string) => createHmac('sha256', keys[purpose]).update(text).digest();

  function pack(purpose: Purpose, value: object): string {
    const text = Buffer.from(JSON.stringify({ ...value, expires_ms: now() + SESSION_MS })).toString('base64url');
    return `${text}.${mac(purpose, text).toString('base64url')}`;
  }
  function unpack<T>(purpose: Purpose, session_id: string): T | null {
    const [text = '', signature = ''] = session_id.split('.', 2);
    if (session_id !== `${text}.${signature}` || !isSame(Buffer.from(signature, 'base64url'), mac(purpose, text)))
      return null;
    const { expires_ms, ...value } = JSON.parse(Buffer.from(text, 'base64url').toString()) as T & {
      expires_ms: number;
    };
    return expires_ms > now() ? (value as T) : null;
  }

  return {
    name: 'sandbox',
    async checkout({ user_id, item, currency, success_url, cancel_url }) {
      const payment_id = `sandbox_${randomUUID()}`;
      const session: SandboxCheckout = { payment_id, user_id, item, currency, success_url, cancel_url };
      const session_id = pack('checkout', session);
      return { session_id, checkout_url: `${base_url()}/sandbox/checkout/${session_id}` };
    },
    async portal({ user_id, return_url }) {
      const session_id = pack('portal', { user_id, return_url });
      return { session_id, portal_url: `${base_url()}/sandbox/portal/${session_id}` };
    },
    opened: (session_id) => unpack<SandboxCheckout>('checkout', session_id),
    openedPortal: (session_id) => unpack<SandboxPortal>('portal', session_id),
    signed(id, notices) {
      const raw = Buffer.from(JSON.stringify({ id, notices }));
      const timestamp_s = Math.floor(now() / 1000);
      const signature = mac('event', `${timestamp_s}.${raw}`).toString('hex');
      return { raw, headers: { [SIGNATURE_HEADER]: `t=${timestamp_s},v1=${signature}` } };
    },
    hasSignature: (header) => isRecentSignature(header(SIGNATURE_HEADER), now()),
    async read(raw, header) {
      const [, seconds, given] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header(SIGNATURE_HEADER)) ?? [];
      if (seconds === undefined || Math.abs(now() / 1000 - Number(seconds)) > TOLERANCE_S) return null;
      if (!isSame(Buffer.from(given!, 'hex'), mac('event', `${seconds}.${raw}`))) return null;
      return JSON.parse(raw.toString()) as Delivery;
    },
  };
}

const isSame = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b);
