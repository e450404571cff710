// The options of MongoDB's client for the files of a connection by TLS.
import { readFileSync } from 'node:fs';
import type { MongoClientOptions } from 'mongodb';
import { hasTlsFiles, type TlsFiles } from './tls-files.ts';

/** Throws what the file system says of a file that cannot be read. */
export function mongoTls(files: TlsFiles | undefined): Pick<MongoClientOptions, 'tls' | 'ca' | 'cert' | 'key'> {
  if (!hasTlsFiles(files)) return {};
  const { ca_file, cert_file, key_file } = files;
  return {
    tls: true,
    ...(ca_file !== null && { ca: readFileSync(ca_file) }),
    ...(cert_file !== null &&
      key_file !== null && { cert: readFileSync(cert_file, 'utf8'), key: readFileSync(key_file) }),
  };
}
