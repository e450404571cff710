// Tells names of web sites from other dotted words, such as file names and identifiers, by the Public Suffix List.
import { parse } from 'tldts';

/** Top-level domains with few sites, under which a name of two parts is nearly always a file: `HOWTO.md`, `script.sh`. */
const FILE_ENDINGS = new Set('md mov ps py sh zip'.split(' '));
/** Reserved for documentation and tests (RFC 2606): examples are full of them. */
const RESERVED = /\.(?:example|test)$/;

/** Whether a host, in the URL parser's form, is a name under a public suffix, and not how a file is named. */
export function isPublicName(host: string): boolean {
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  const labels = name.split('.');
  if (labels.length < 2 || (labels.length === 2 && FILE_ENDINGS.has(labels[1]!))) return false;
  if (RESERVED.test(name)) return true;
  const { isIcann, isPrivate } = parse(name, { allowPrivateDomains: true, validateHostname: false });
  return isIcann === true || isPrivate === true;
}
