// What http uses beside the log and the documents: whether each answers, and takes what it is given.
import { access, constants, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Blobs } from '../../commands/blobs.ts';
import { DependencyFault, type Probe, type ProbedDependencies } from '../../roles/dependencies.ts';
import type { Config } from '../../settings/config.ts';
import type { Identity } from '../callers/identity.ts';
import { NotReady } from './readiness.ts';

const IDENTITY_PROVIDER = 'identity_provider';

/** Without the provider new sign-ins fail; sessions, API keys and the tokens of known keys go on, so that the service stays ready. */
export const identityCheck = ({ states }: ProbedDependencies) => ({
  async [IDENTITY_PROVIDER]() {
    const state = states().find(({ name }) => name === IDENTITY_PROVIDER);
    if (state?.status !== 'away') return;
    const why = state.reason ?? 'it does not answer';
    throw new NotReady(`${why}: nobody can sign in, and new tokens are refused; sessions and API keys work`);
  },
});

export function probesOf(config: Config, blobs: Blobs, { reach }: Pick<Identity, 'reach'>): Probe[] {
  const { blob_url, payment_secret_key, payment_api_url, data_dir } = config;
  const folder = blob_url?.kind === 's3' ? null : (blob_url?.folder ?? join(data_dir, 'blobs'));
  const payments = { api_url: payment_api_url ?? 'https://api.stripe.com', key: payment_secret_key ?? '' };
  return [
    { name: 'files', kind: blob_url?.kind ?? 'files', ask: () => askFiles(blobs, folder) },
    ...(payment_secret_key === null
      ? []
      : [{ name: 'payments', kind: 'stripe', ask: (signal: AbortSignal) => askPayments(payments, signal) }]),
    ...(reach
      ? [{ name: IDENTITY_PROVIDER, kind: 'openid', ask: (signal: AbortSignal) => reachKeys(reach, signal) }]
      : []),
  ];
}

/** `folder`: of files on a disk, which is missing where its disk is not mounted; null for a bucket. */
async function askFiles(blobs: Blobs, folder: string | null): Promise<void> {
  if (folder !== null) {
    const found = await stat(folder).catch(() => null);
    if (!found?.isDirectory()) throw new DependencyFault('its folder is missing: mount it, or restart the service');
    await access(folder, constants.W_OK).catch(() => {
      throw new DependencyFault('its folder cannot be written');
    });
  }
  // There are no such files: a store that answers lists none.
  for await (const _ of blobs.list('probes/')) return;
}

/** A server that takes a connection may still answer nothing, fail, or refuse the key. */
async function askPayments({ api_url, key }: { api_url: string; key: string }, signal: AbortSignal): Promise<void> {
  const response = await fetch(new URL('/v1/balance', api_url), {
    headers: { authorization: `Bearer ${key}` },
    signal,
  });
  await response.body?.cancel();
  if (response.status === 401 || response.status === 403)
    throw new DependencyFault(`it refuses the key (PAYMENT_SECRET_KEY) with ${response.status}`);
  if (response.status >= 500) throw new DependencyFault(`it answers with ${response.status}`);
}

async function reachKeys(reach: NonNullable<Identity['reach']>, signal: AbortSignal): Promise<void> {
  const status = await reach(signal);
  if (status !== 200)
    throw new DependencyFault(`it answers the request for its keys (IDENTITY_JWKS_URL) with ${status}`);
}
