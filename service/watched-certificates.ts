// Whose certificates a process watches: of the servers that its settings name, where they are reached by TLS, and of its own files.
import { resolveSrv } from 'node:dns/promises';
import { hasTlsFiles, type TlsFiles } from '../adapters/tls-files.ts';
import type { CertificateServer, TlsOpening, WatchedCertificate } from '../roles/certificates.ts';
import type { Config, Role } from '../settings/config.ts';
import { tlsFilesOf } from './store-tls.ts';

/** `role`: a process with several roles watches for each of them what that uses. */
export function watchedCertificates(config: Config, role: Role): WatchedCertificate[] {
  const { eventstore_url, mongodb_url, nats_url, smtp_url, identity_jwks_url, blob_url, public_url } = config;
  const storeOf = (store: 'EVENTSTORE' | 'MONGODB' | 'NATS'): Store => ({ store, files: tlsFilesOf(config, store) });
  const [eventstore, mongodb] = [storeOf('EVENTSTORE'), storeOf('MONGODB')];
  // The others may lack the files.
  const nats = role === 'processes' || role === 'checker' ? storeOf('NATS') : null;
  const of_log = eventstore_url !== null && !/[?&]tls=false\b/i.test(eventstore_url);
  const of_documents =
    mongodb_url !== null && (hasTlsFiles(mongodb.files) || /^mongodb\+srv:|[?&](tls|ssl)=true\b/i.test(mongodb_url));
  const of_queue = nats_url !== null && nats !== null && (hasTlsFiles(nats.files) || /^(tls|wss):/i.test(nats_url));
  const endpoint = blob_url?.kind === 's3' ? (blob_url.endpoint ?? null) : null;
  return [
    ...(of_log ? [named('event_log', eventstore_url, 2113), ...filesOf(eventstore)] : []),
    ...(of_documents ? [ofMongo(mongodb_url), ...filesOf(mongodb)] : []),
    ...(of_queue ? [named('queue', nats_url, 4222, 'nats'), ...filesOf(nats)] : []),
    ...(smtp_url !== null && role === 'processes' ? [ofMail(smtp_url)] : []),
    ...(role === 'http'
      ? [ofWebsite('identity_provider', identity_jwks_url), ofWebsite('public_url', public_url)]
      : []),
    ofWebsite('files', endpoint),
  ].filter((one) => one !== null);
}

interface Store {
  store: string;
  files: TlsFiles;
}

const filesOf = ({ store, files: { ca_file, cert_file } }: Store): WatchedCertificate[] => [
  ...(ca_file === null ? [] : [{ of: `${store}_CA_FILE`, file: ca_file }]),
  ...(cert_file === null ? [] : [{ of: `${store}_CERT_FILE`, file: cert_file }]),
];

function named(of: string, url: string, default_port: number, opening: TlsOpening = 'none'): WatchedCertificate {
  const servers = hostsOf(url, default_port).map((server) => ({ ...server, opening }));
  return { of, servers: async () => servers };
}

function ofMongo(url: string): WatchedCertificate {
  if (!/^mongodb\+srv:/i.test(url)) return named('documents', url, 27_017);
  const [{ host }] = hostsOf(url, 27_017) as [CertificateServer];
  return {
    of: 'documents',
    servers: async () =>
      (await resolveSrv(`_mongodb._tcp.${host}`)).map(({ name, port }) => ({
        host: name,
        port,
        opening: 'none' as const,
      })),
  };
}

const ofMail = (url: string): WatchedCertificate =>
  /^smtps:/i.test(url) ? named('mail', url, 465) : named('mail', url, 587, 'smtp');

const ofWebsite = (of: string, url: string | null): WatchedCertificate | null =>
  url !== null && /^https:/i.test(url) ? named(of, url, 443) : null;

/**
 * The servers of a URL that may name several.
 * @example hostsOf('nats://u:p@one:1,[::1]', 4222) // [{ host: 'one', port: 1, opening: 'none' }, { host: '::1', port: 4222, opening: 'none' }]
 */
export function hostsOf(url: string, default_port: number): CertificateServer[] {
  const [authority = ''] = url.slice(url.indexOf('://') + 3).split(/[/?#]/);
  return authority
    .slice(authority.lastIndexOf('@') + 1)
    .split(',')
    .map((part) => new URL(`tcp://${part.includes('://') ? part.slice(part.indexOf('://') + 3) : part.trim()}`))
    .map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || default_port,
      opening: 'none',
    }));
}
