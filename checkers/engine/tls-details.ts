// What is wrong with the TLS of a server, in words that its owner can act on.
import type { TLSSocket } from 'node:tls';
import { tlsCodeOf } from './errors.ts';

const LACKS_CHAIN =
  'The server does not send the certificate of the authority that issued its own. Install the whole chain, with the intermediate certificates. ' +
  'Some browsers fetch the missing one; other programs refuse the site';

/** By the code, of alerts without the name of the protocol. */
const DETAILS: { readonly [code: string]: string } = {
  CERT_HAS_EXPIRED: 'The certificate, or one of its chain, has expired. Renew it, and reload the server.',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet. Look at the clock of the machine that issued it.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is signed by itself. Get one of a public authority.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The chain ends at an authority that is not public. Get a certificate of a public one.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: LACKS_CHAIN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: LACKS_CHAIN,
  UNABLE_TO_GET_ISSUER_CERT: LACKS_CHAIN,
  CERT_REVOKED: 'The authority has revoked the certificate. Get a new one.',
  CERT_SIGNATURE_FAILURE: 'A signature in the chain is wrong. Install the chain anew.',
  INVALID_PURPOSE: 'The certificate is not for servers. Get one that is.',
  EPROTO: 'The server and the checker found no common version or cipher of TLS.',
  ERR_SSL_WRONG_VERSION_NUMBER: 'The port does not speak TLS. Use http, or another port.',
  ERR_SSL_UNSUPPORTED_PROTOCOL:
    'The server knows only versions of TLS that browsers no longer speak. Offer TLS 1.2 or 1.3.',
  PROTOCOL_VERSION: 'The server refuses TLS 1.2 and 1.3. Offer one of them.',
  CERTIFICATE_REQUIRED: 'The server demands a certificate of its clients.',
  CERT_UNTRUSTED: 'The chain ends at an authority that is not trusted for servers. Get a certificate of a public one.',
  CERT_REJECTED: 'The authority is not trusted for servers. Get a certificate of a public one.',
  CERT_CHAIN_TOO_LONG:
    'The chain has too many certificates. Install only those between the certificate and the public authority.',
  INVALID_CA:
    'A certificate in the chain is not one of an authority. Install the chain that belongs to the certificate.',
  PATH_LENGTH_EXCEEDED:
    'An authority in the chain may not issue for another one. Install the chain that belongs to the certificate.',
  ERROR_IN_CERT_NOT_BEFORE_FIELD: 'The certificate has no readable date of its beginning. Get a new one.',
  ERROR_IN_CERT_NOT_AFTER_FIELD: 'The certificate has no readable date of its end. Get a new one.',
  UNSPECIFIED: 'The certificate, or one of its chain, has a weak key or signature, or another fault. Get a new one.',
  HANDSHAKE_FAILURE:
    'The server knows none of the versions and ciphers of TLS that browsers offer, or no site of this name.',
  UNRECOGNIZED_NAME: 'The server has no site, and no certificate, for this name.',
  INTERNAL_ERROR: 'The server failed in the handshake. Often it has no certificate for this name.',
  ACCESS_DENIED: 'The server denies access in the handshake.',
  NO_APPLICATION_PROTOCOL: 'The server speaks neither HTTP/1.1 nor HTTP/2 over TLS.',
  ERR_SSL_DH_KEY_TOO_SMALL: 'The key of the server for the exchange is too short. Offer ECDHE, or a longer one.',
};

interface TlsError {
  code?: string;
  reason?: string;
  /** The common name of the authority whose certificate is missing. */
  issuer?: string;
}

/** Who issued a certificate that the handshake did not verify; undefined for the others, which the caller need not read. */
export function issuerOfRefused(socket: TLSSocket): string | undefined {
  // Node tells of a refusal after it has dropped the connection with the certificate; its handle, which is private, knows before.
  try {
    const { _handle: handle } = socket as { _handle?: { verifyError?(): Error | null } };
    if (handle?.verifyError?.() == null) return undefined;
    const { issuer } = socket.getPeerX509Certificate()!.toLegacyObject();
    const name = issuer.CN ?? issuer.O;
    return name === undefined ? undefined : `${name}`;
  } catch {
    // Another Node has another handle. The result then only lacks the name.
    return undefined;
  }
}

const BY_ALERT =
  'The server ended the handshake without saying why. It may demand a certificate of its clients, or have none for this name.';

/** What the error of a failed handshake says of the server. */
export function tlsDetailOf(error: Error): string {
  const { code = '', reason, issuer } = error as TlsError;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate is for another name: ${reason ?? 'it names none'}`;
  const said = reason?.replace(/^[\w/]{1,10} alert /, '');
  const detail =
    DETAILS[tlsCodeOf(error as TlsError)] ?? (said === undefined ? BY_ALERT : `The handshake failed: ${said}.`);
  if (detail !== LACKS_CHAIN) return detail;
  return `${detail}.${issuer === undefined ? '' : ` Missing: the certificate of "${issuer}".`}`;
}
