// Certificates of the tests as files: one for servers and clients, and an authority that has signed neither.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { AUTHORITY, GOOD, SELF_SIGNED, SERVER_KEY } from './test-certificates.ts';

export interface CertificateFiles {
  ca: string;
  other_ca: string;
  cert: string;
  key: string;
  /** Certificate and key in one file, as MongoDB takes them. */
  both: string;
}

/** They go with the test. */
export function certificateFiles(t: ExecutionContext): CertificateFiles {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  return {
    ca: file('ca.pem', AUTHORITY),
    other_ca: file('other-ca.pem', SELF_SIGNED),
    cert: file('cert.pem', GOOD),
    key: file('key.pem', SERVER_KEY),
    both: file('both.pem', GOOD + SERVER_KEY),
  };
}
