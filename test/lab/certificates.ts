// Certificates for the laboratory, made by openssl under an authority of its own.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** A key and a chain of certificates, as PEM. */
export interface Pair {
  key: string;
  cert: string;
}
export interface Certificates {
  authority: string;
  /** For the names and addresses of a `subjectAltName`, such as `DNS:*.lab.test`. */
  of(names: string): Pair;
}

/** What each certificate of the laboratory is for. */
const NAMES = [
  'DNS:*.lab.test',
  'DNS:lab.test',
  'DNS:*.*.lab.test',
  'DNS:w*.tls-wildcard-part.lab.test,DNS:w*.lab.test',
  'DNS:*',
  'DNS:*.test',
  'IP:127.0.0.1',
  'DNS:TLS-CASE.LAB.TEST',
  'DNS:tls-dot.lab.test.',
  'DNS:*.www.lab.test,DNS:www.lab.test',
  // No alternative name: the common name alone.
  'CN:*.lab.test',
] as const;

export async function makeCertificates(folder: string): Promise<Certificates> {
  const at = (name: string) => join(folder, name);
  const issue = async (index: number, names: string) => {
    const file = `leaf-${index}`;
    const common = names.startsWith('CN:') ? names.slice('CN:'.length) : null;
    await writeFile(
      at(`${file}.ext`),
      `${common === null ? `subjectAltName=${names}\n` : ''}basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n`,
    );
    const request = [
      ...NEW_KEY,
      '-keyout',
      at(`${file}.key`),
      '-out',
      at(`${file}.csr`),
      '-subj',
      `/CN=${common ?? `lab ${index}`}`,
    ];
    await run('openssl', ['req', ...request]);
    const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-days', '90', '-extfile', at(`${file}.ext`)];
    await run('openssl', ['x509', '-req', '-in', at(`${file}.csr`), ...signed, '-out', at(`${file}.pem`)]);
    const [key, cert] = await Promise.all([readFile(at(`${file}.key`), 'utf8'), readFile(at(`${file}.pem`), 'utf8')]);
    return [names, { key, cert }] as const;
  };
  const root = ['-keyout', at('ca.key'), '-out', at('ca.pem'), '-subj', '/CN=Laboratory', '-days', '90'];
  await run('openssl', ['req', '-x509', ...NEW_KEY, ...root, '-addext', 'keyUsage=critical,keyCertSign']);
  const pairs = new Map<string, Pair>(await Promise.all(NAMES.map((names, index) => issue(index, names))));
  return {
    authority: await readFile(at('ca.pem'), 'utf8'),
    of(names) {
      const pair = pairs.get(names);
      if (pair === undefined) throw new Error(`No certificate is made for ${names}`);
      return pair;
    },
  };
}
