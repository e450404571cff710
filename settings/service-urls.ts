// SERVICE_URLS: the groups of routes that another deployment serves, and where it is.

/** The tags of the OpenAPI documents, without `service`, which each deployment serves itself. */
export const SERVICE_GROUPS = [
  ...([
    'jobs',
    'exports',
    'shares',
    'analysis',
    'domains',
    'account',
    'billing',
    'console',
    'usage',
    'webhook-endpoints',
  ] as const),
  ...(['audit', 'growth', 'public', 'administration', 'worker-logs', 'proxies', 'intake', 'inbound'] as const),
] as const;
export type ServiceGroup = (typeof SERVICE_GROUPS)[number];

/** The origin of the deployment that serves each group; the others are served here. */
export type ServiceUrls = Readonly<Partial<Record<ServiceGroup, string>>>;

export const SERVICE_URLS_WANTS = `GROUP=http://HOST:PORT, several with commas between, each GROUP one of ${SERVICE_GROUPS.join(', ')}`;

/** Returns undefined for an invalid text. */
export function parseServiceUrls(text: string): ServiceUrls | undefined {
  const urls: Partial<Record<ServiceGroup, string>> = {};
  for (const part of text.split(',')) {
    const at = part.indexOf('=');
    const group = SERVICE_GROUPS.find((name) => name === part.slice(0, at).trim());
    const url = URL.parse(part.slice(at + 1).trim());
    if (at < 0 || group === undefined || group in urls || url === null || !isOrigin(url)) return undefined;
    urls[group] = url.origin;
  }
  return urls;
}

const isOrigin = (url: URL) =>
  /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && `${url.origin}/` === url.href;
