// Verifies a webhook (Node 24): node verify.ts SECRET "SERVICE-SIGNATURE" < body
import { createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE_S = 5 * 60;

/** `body`: the received bytes. Throws unless the secret signed them, at most five minutes ago. */
export function verify(body: Uint8Array, header: string, secret: string): void {
  const fields = header.split(',').map((field) => field.trim().split('=', 2));
  const values = (name: string) => fields.filter((field) => field[0] === name).map((field) => field[1] ?? '');
  const [timestamp = ''] = values('t');
  if (!/^\d{1,12}$/.test(timestamp)) throw new Error('the header has no timestamp');

  const hmac = createHmac('sha256', secret).update(`${timestamp}.`).update(body);
  const expected = Buffer.from(hmac.digest('hex'));
  const is_signed = values('v1').some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!is_signed) throw new Error('no signature matches');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_S) throw new Error('the timestamp is too old');
}

if (import.meta.main) {
  const [secret = '', header = ''] = process.argv.slice(2);
  try {
    verify(Buffer.concat(await process.stdin.toArray()), header, secret);
    process.stdout.write('verified\n');
  } catch (error) {
    process.stderr.write(`refused: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
