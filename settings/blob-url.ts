// BLOB_URL: where uploaded files are kept, a folder or a bucket of a store that speaks S3.
import { fileURLToPath } from 'node:url';

export interface BlobFolder {
  kind: 'files';
  folder: string;
}

export interface BlobBucket {
  kind: 's3';
  bucket: string;
  /** Empty, or the beginning of all keys, which ends with `/`. */
  prefix: string;
  /** Null: Amazon's. */
  endpoint: string | null;
  /** The endpoint in links, where clients reach the store by another name. */
  public_endpoint: string | null;
  /** Null: as AWS's own settings say. */
  region: string | null;
  /** Whether the bucket is in the path of a request, and not in the name of its host. */
  path_style: boolean;
  /** Null: those that AWS's standard chain finds. */
  credentials: { access_key_id: string; secret_access_key: string } | null;
}

export const BLOB_URL_WANTS =
  's3://BUCKET/PREFIX?region=R&endpoint=https://HOST&public_endpoint=https://HOST&path_style=true, each part but s3://BUCKET optional, ' +
  'and KEY_ID:SECRET@ (percent-encoded) before BUCKET unless AWS has its own settings; or file:///FOLDER';

const PARAMETERS = ['region', 'endpoint', 'public_endpoint', 'path_style'];

/**
 * Returns undefined for an invalid text.
 * @example parseBlobUrl('https://files.example') // undefined
 */
export function parseBlobUrl(text: string): BlobFolder | BlobBucket | undefined {
  const url = URL.parse(text);
  if (url?.protocol === 'file:') return folderOf(url);
  if (url?.protocol !== 's3:' || url.hash !== '' || url.port !== '') return undefined;
  const given = url.searchParams;
  if ([...given.keys()].some((name) => !PARAMETERS.includes(name) || given.getAll(name).length > 1)) return undefined;
  const [bucket, prefix] = [url.hostname, url.pathname.replace(/^\/|\/$/g, '')];
  const [region, endpoint, public_endpoint] = [
    given.get('region'),
    given.get('endpoint'),
    given.get('public_endpoint'),
  ];
  const path_style = given.get('path_style') ?? String(endpoint !== null);
  const credentials = credentialsOf(url);
  const is_valid =
    /^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/.test(bucket) &&
    /^([A-Za-z0-9_-][A-Za-z0-9._-]*(\/|$))*$/.test(prefix) &&
    prefix.length <= 200 &&
    /^[A-Za-z0-9-]{1,50}$/.test(region ?? 'none') &&
    [endpoint, public_endpoint].every((one) => one === null || isOrigin(one)) &&
    /^(true|false)$/.test(path_style);
  if (!is_valid || credentials === undefined) return undefined;
  return {
    ...{ kind: 's3', bucket, prefix: prefix === '' ? '' : `${prefix}/`, endpoint, public_endpoint },
    // A store with an endpoint of its own has one region as a rule, and takes any name for it.
    region: region ?? (endpoint === null ? null : 'us-east-1'),
    path_style: path_style === 'true',
    credentials,
  };
}

function folderOf(url: URL): BlobFolder | undefined {
  try {
    const folder = fileURLToPath(url);
    return url.search === '' && url.hash === '' && !folder.includes('\0') ? { kind: 'files', folder } : undefined;
  } catch {
    return undefined;
  }
}

/** Null: there are none in the URL. */
function credentialsOf({ username, password }: URL): BlobBucket['credentials'] | undefined {
  if (username === '' && password === '') return null;
  try {
    const [access_key_id, secret_access_key] = [decodeURIComponent(username), decodeURIComponent(password)];
    return access_key_id !== '' && secret_access_key !== '' ? { access_key_id, secret_access_key } : undefined;
  } catch {
    return undefined;
  }
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && `${url.origin}/` === url.href;
}
