// Maps the error codes of Node, OpenSSL and undici to the error codes of an outcome.
import { closeSync, openSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import type { ErrorCode } from '../../events/checks.ts';

const BY_CODE: { readonly [code: string]: ErrorCode } = {
  ECONNREFUSED: 'connection_refused',
  EHOSTUNREACH: 'connection_refused',
  EHOSTDOWN: 'connection_refused',
  ENETUNREACH: 'connection_refused',
  EACCES: 'connection_refused',
  EPERM: 'connection_refused',
  ETIMEDOUT: 'connect_timeout',
  // IPv6 on a machine without it; `isShortage` catches the other cases.
  EADDRNOTAVAIL: 'connection_refused',
  ECONNRESET: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EPIPE: 'connection_reset',
  UND_ERR_HEADERS_OVERFLOW: 'malformed_response',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'malformed_response',
  CERT_HAS_EXPIRED: 'tls_expired',
  CERT_NOT_YET_VALID: 'tls_expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls_hostname',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls_untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls_untrusted',
  UNABLE_TO_GET_ISSUER_CERT: 'tls_untrusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'tls_untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls_untrusted',
  CERT_UNTRUSTED: 'tls_untrusted',
  CERT_REJECTED: 'tls_untrusted',
  CERT_REVOKED: 'tls_untrusted',
  CERT_CHAIN_TOO_LONG: 'tls_untrusted',
  CERT_SIGNATURE_FAILURE: 'tls_untrusted',
  INVALID_CA: 'tls_untrusted',
  INVALID_PURPOSE: 'tls_untrusted',
  PATH_LENGTH_EXCEEDED: 'tls_untrusted',
  UNABLE_TO_DECRYPT_CERT_SIGNATURE: 'tls_untrusted',
  UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY: 'tls_untrusted',
  ERROR_IN_CERT_NOT_BEFORE_FIELD: 'tls_untrusted',
  ERROR_IN_CERT_NOT_AFTER_FIELD: 'tls_untrusted',
  // Node's code for every other fault of a certificate, such as a weak key or signature.
  UNSPECIFIED: 'tls_untrusted',
  EPROTO: 'tls_failed',
};

/** A failure that the engine itself detected, passed through undici. */
export class CheckFailure extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode) {
    super(code);
    this.code = code;
  }
}

const SHORTAGES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL']);

/** This machine lacks files, memory, buffers or local ports, which says nothing of the URL. */
export class Shortage extends Error {
  readonly code = 'ENFILE';
}

/**
 * Whether an error says that this machine lacks files, memory, buffers or local ports.
 * @example isShortage({ code: 'EMFILE' }) // true
 */
export function isShortage(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isShortage);
  const { code = '', address = '' } = error as { code?: string; address?: string };
  if (code === 'EADDRNOTAVAIL' && address.includes(':')) return hasIpv6();
  return SHORTAGES.has(code);
}

/** Whether this process may open another file. */
export function canOpenFile(): boolean {
  try {
    closeSync(openSync(process.execPath, 'r'));
    return true;
  } catch (error) {
    return !isShortage(error);
  }
}

/** Whether an interface has a global IPv6 address. Without one no IPv6 host is reachable. */
export function hasIpv6(): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return addresses.some(
    ({ family, internal, address }) => family === 'IPv6' && !internal && !address.startsWith('fe80'),
  );
}

/**
 * The outcome's error code for an error of a request. `connected`: whether the connection was established.
 * @example errorCodeOf({ code: 'CERT_HAS_EXPIRED' }, false) // 'tls_expired'
 */
export function errorCodeOf(error: unknown, connected: boolean): ErrorCode {
  if (error instanceof CheckFailure) return error.code;
  if (error instanceof AggregateError && error.errors.length > 0)
    return errorCodeOf(error.errors.find((one) => !isShortage(one)) ?? error.errors[0], connected);
  const { code = '', message = '' } = error as { code?: string; message?: string };
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (code === 'UND_ERR_SOCKET') {
    // undici's messages for an answer without a request, an unrequested 100 Continue and an unrequested upgrade.
    return message.startsWith('bad ') ? 'malformed_response' : 'connection_reset';
  }
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || code.startsWith('ERR_OSSL')) return 'tls_failed';
  return connected ? 'malformed_response' : 'connection_refused';
}

/** Whether undici's strict parser refused the answer. Browsers, which are lenient, may read it. */
export function isStrictness(error: unknown): boolean {
  const { name = '', code = '', message = '' } = error as { name?: string; code?: string; message?: string };
  // An unrequested 100 Continue, which clients may ignore (RFC 9110, 15.2).
  if (code === 'UND_ERR_SOCKET') return message === 'bad response';
  return name === 'HTTPParserError' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
}

/** The bytes that a socket had read when the server ended its connection in order; 0 for any other failure. */
export function bytesReadAtEnd(error: unknown): number {
  const { code, message, socket } = error as { code?: string; message?: string; socket?: { bytesRead?: number } };
  return code === 'UND_ERR_SOCKET' && message === 'other side closed' ? (socket?.bytesRead ?? 0) : 0;
}

/**
 * The code of an error of TLS, without the name of the protocol, of which OpenSSL has several: an alert is `SSL/TLS` since 3.5, and was `SSLV3`.
 * @example tlsCodeOf({ code: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE' }) // 'HANDSHAKE_FAILURE'
 */
export function tlsCodeOf({ code = '' }: { code?: string }): string {
  return code.replace(/^ERR_SSL_(?:SSLV3|SSL\/TLS|TLSV1|TLSV13)_(?:ALERT_)?/, '');
}

/** Whether the server refused what the client offered in the TLS handshake. */
export const isHandshakeFailure = (error: unknown): boolean =>
  tlsCodeOf(error as { code?: string }) === 'HANDSHAKE_FAILURE';

/** Type of the frame with which a server that speaks only HTTP/2 begins, after three bytes of length. */
const SETTINGS_FRAME = 4;

/** Whether the server refused HTTP/1.1 in the TLS handshake, or answered it with a frame of HTTP/2. */
export function isHttp2Wanted(error: unknown): boolean {
  const { name = '', data } = error as { name?: string; data?: unknown };
  if (tlsCodeOf(error as { code?: string }) === 'NO_APPLICATION_PROTOCOL') return true;
  return (
    name === 'HTTPParserError' &&
    typeof data === 'string' &&
    data.startsWith('\0') &&
    data.charCodeAt(3) === SETTINGS_FRAME
  );
}
