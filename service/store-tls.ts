// The files of the connections to the stores, as the settings name them.
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { TlsFiles } from '../adapters/tls-files.ts';
import type { Config } from '../settings/config.ts';
import { StartError } from './data-dir.ts';

const NAMED = {
  EVENTSTORE: ({ eventstore_ca_file, eventstore_cert_file, eventstore_key_file }: Config) => ({
    ...{ ca_file: eventstore_ca_file, cert_file: eventstore_cert_file, key_file: eventstore_key_file },
  }),
  MONGODB: ({ mongodb_ca_file, mongodb_cert_file, mongodb_key_file }: Config) => ({
    ...{ ca_file: mongodb_ca_file, cert_file: mongodb_cert_file, key_file: mongodb_key_file },
  }),
  NATS: ({ nats_ca_file, nats_cert_file, nats_key_file }: Config) => ({
    ...{ ca_file: nats_ca_file, cert_file: nats_cert_file, key_file: nats_key_file },
  }),
} as const satisfies Readonly<Record<string, (config: Config) => TlsFiles>>;

/** Throws `StartError` for a file that cannot be read. */
export function tlsFilesOf(config: Config, store: keyof typeof NAMED): TlsFiles {
  const { ca_file, cert_file, key_file } = NAMED[store](config);
  return {
    ca_file: readable(`${store}_CA_FILE`, ca_file),
    cert_file: readable(`${store}_CERT_FILE`, cert_file),
    key_file: readable(`${store}_KEY_FILE`, key_file),
  };
}

function readable(setting: string, given: string | null): string | null {
  if (!given) return null;
  const path = resolve(given);
  try {
    accessSync(path, constants.R_OK);
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(`${setting} names ${path}, which cannot be read: ${code}`);
  }
}
